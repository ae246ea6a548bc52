! SPDX-License-Identifier: Apache-2.0
! A field in slices with a halo, smoothed again and again; Fortran with the module mpi. Prints the field's sum and norm.
program halo
  use mpi
  implicit none
  integer, parameter :: width = 64, height = 32, steps = 20
  double precision :: field(width, 0:height + 1), next(width, 0:height + 1), sums(2), all_sums(2)
  integer :: ierr, rank, ranks, lower, upper, step, row, column, rows(4), statuses(MPI_STATUS_SIZE, 4), row_type
  double precision :: places(2)
  integer :: answer

  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierr)
  lower = modulo(rank - 1, ranks)
  upper = modulo(rank + 1, ranks)
  call MPI_Type_contiguous(width, MPI_DOUBLE_PRECISION, row_type, ierr)
  call MPI_Type_commit(row_type, ierr)
  do row = 0, height + 1
    do column = 1, width
      field(column, row) = sin(0.1d0 * column) + 0.01d0 * (row + rank * height)
    end do
  end do

  do step = 1, steps
    call MPI_Irecv(field(1, 0), 1, row_type, lower, 1, MPI_COMM_WORLD, rows(1), ierr)
    call MPI_Irecv(field(1, height + 1), 1, row_type, upper, 2, MPI_COMM_WORLD, rows(2), ierr)
    call MPI_Isend(field(1, height), 1, row_type, upper, 1, MPI_COMM_WORLD, rows(3), ierr)
    call MPI_Isend(field(1, 1), 1, row_type, lower, 2, MPI_COMM_WORLD, rows(4), ierr)
    call MPI_Waitall(4, rows, statuses, ierr)
    next = field
    do row = 1, height
      do column = 2, width - 1
        next(column, row) = 0.25d0 * (field(column - 1, row) + field(column + 1, row) &
                                      + field(column, row - 1) + field(column, row + 1))
      end do
    end do
    field = next
  end do

  sums = [sum(field(:, 1:height)), sum(field(:, 1:height)**2)]
  call MPI_Allreduce(sums, all_sums, 2, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, ierr)
  answer = 41
  if (rank == 0) answer = 42
  call MPI_Bcast(answer, 1, MPI_INTEGER, 0, MPI_COMM_WORLD, ierr)
  ! In place: an address that Fortran and C do not share.
  places = rank + 1
  call MPI_Allreduce(MPI_IN_PLACE, places, 2, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, ierr)
  call MPI_Sendrecv(rank, 1, MPI_INTEGER, upper, 3, row, 1, MPI_INTEGER, lower, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
  if (row /= lower) call MPI_Abort(MPI_COMM_WORLD, 1, ierr)
  call MPI_Type_free(row_type, ierr)
  if (rank == 0) print '(a, 2es24.16, i6, f8.1)', 'sums', all_sums, answer, places(1)
  call MPI_Finalize(ierr)
end program halo
