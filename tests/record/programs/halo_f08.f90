! SPDX-License-Identifier: Apache-2.0
! Messages round a ring and collectives, in Fortran with the module mpi_f08. Prints what came of it.
program halo_f08
  use mpi_f08
  implicit none
  integer, parameter :: length = 20000, steps = 10
  double precision :: given(length), taken(length), total
  integer :: rank, ranks, step
  type(MPI_Request) :: requests(2)
  type(MPI_Comm) :: half
  type(MPI_Status) :: state

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  given = rank + 1
  do step = 1, steps
    call MPI_Irecv(taken, length, MPI_DOUBLE_PRECISION, modulo(rank - 1, ranks), step, MPI_COMM_WORLD, requests(1))
    call MPI_Isend(given, length, MPI_DOUBLE_PRECISION, modulo(rank + 1, ranks), step, MPI_COMM_WORLD, requests(2))
    call MPI_Wait(requests(1), state)
    call MPI_Wait(requests(2), MPI_STATUS_IGNORE)
    if (state%MPI_TAG /= step) call MPI_Abort(MPI_COMM_WORLD, 1)
    given = 0.5d0 * given + taken
  end do
  call MPI_Comm_split(MPI_COMM_WORLD, modulo(rank, 2), rank, half)
  call MPI_Reduce(given(1), total, 1, MPI_DOUBLE_PRECISION, MPI_SUM, 0, MPI_COMM_WORLD)
  call MPI_Barrier(half)
  call MPI_Comm_free(half)
  if (rank == 0) print '(a, es24.16)', 'total', total
  call MPI_Finalize()
end program halo_f08
