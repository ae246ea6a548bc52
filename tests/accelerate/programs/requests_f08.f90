! SPDX-License-Identifier: Apache-2.0
! Persistent and mixed requests round a ring, in Fortran with the module mpi_f08. Prints what came of it.
program requests_f08
  use mpi_f08
  implicit none
  integer, parameter :: length = 3000, steps = 20
  double precision, asynchronous :: given(length), taken(length)
  double precision :: total
  integer :: rank, ranks, step, found, count
  type(MPI_Request) :: requests(3)
  type(MPI_Status) :: state

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  given = rank + 1
  call MPI_Recv_init(taken, length, MPI_DOUBLE_PRECISION, modulo(rank - 1, ranks), 1, MPI_COMM_WORLD, requests(1))
  call MPI_Send_init(given, length, MPI_DOUBLE_PRECISION, modulo(rank + 1, ranks), 1, MPI_COMM_WORLD, requests(2))
  do step = 1, steps
    call MPI_Startall(2, requests)
    call MPI_Ibarrier(MPI_COMM_WORLD, requests(3))
    if (modulo(step, 2) == 0) then
      call MPI_Waitall(3, requests, MPI_STATUSES_IGNORE)
    else
      call MPI_Wait(requests(1), state)
      call MPI_Get_count(state, MPI_DOUBLE_PRECISION, count)
      if (count /= length .or. state%MPI_TAG /= 1) call MPI_Abort(MPI_COMM_WORLD, 1)
      call MPI_Waitany(3, requests, found, state)
      call MPI_Waitall(3, requests, MPI_STATUSES_IGNORE)
    end if
    given = 0.5d0 * given + taken
  end do
  call MPI_Request_free(requests(1))
  call MPI_Request_free(requests(2))
  call MPI_Reduce(given(1), total, 1, MPI_DOUBLE_PRECISION, MPI_SUM, 0, MPI_COMM_WORLD)
  if (rank == 0) print '(a, f0.6)', 'total ', total
  call MPI_Finalize()
end program requests_f08
