! SPDX-License-Identifier: Apache-2.0
! Requests of every kind round a ring, in Fortran with the module mpi. Prints what came of it, or ends with status 1.
program requests
  use mpi
  implicit none
  integer, parameter :: length = 3000, steps = 20
  double precision :: given(length), taken(length), total
  integer :: rank, ranks, to, from, step, error, found, taken_count, message
  integer :: indices(4), persistent(2), mixed(4), states(MPI_STATUS_SIZE, 4), state(MPI_STATUS_SIZE)
  logical :: is_done

  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
  to = modulo(rank + 1, ranks)
  from = modulo(rank - 1, ranks)
  given = rank + 1

  ! Persistent requests keep their numbers from one start to the next.
  call MPI_Recv_init(taken, length, MPI_DOUBLE_PRECISION, from, 1, MPI_COMM_WORLD, persistent(1), error)
  call MPI_Send_init(given, length, MPI_DOUBLE_PRECISION, to, 1, MPI_COMM_WORLD, persistent(2), error)
  do step = 1, steps
    if (modulo(step, 2) == 0) then
      call MPI_Startall(2, persistent, error)
    else
      call MPI_Start(persistent(1), error)
      call MPI_Start(persistent(2), error)
    end if
    select case (modulo(step, 5))
    case (0)
      call MPI_Waitall(2, persistent, states, error)
      call check(states(MPI_SOURCE, 1) == from, 'the source of a persistent receive')
    case (1)
      call MPI_Wait(persistent(2), MPI_STATUS_IGNORE, error)
      call MPI_Wait(persistent(1), state, error)
      call MPI_Get_count(state, MPI_DOUBLE_PRECISION, taken_count, error)
      call check(taken_count == length, 'the count of a persistent receive')
    case (2)
      call MPI_Waitany(2, persistent, found, state, error)
      call MPI_Wait(persistent(3 - found), MPI_STATUS_IGNORE, error)
    case (3)
      is_done = .false.
      do while (.not. is_done)
        call MPI_Testall(2, persistent, is_done, MPI_STATUSES_IGNORE, error)
      end do
    case (4)
      found = 0
      do while (found < 2)
        call MPI_Waitsome(2, persistent, taken_count, indices, states, error)
        found = found + taken_count
      end do
    end select
    given = 0.5d0 * given + taken
  end do
  call MPI_Request_free(persistent(1), error)
  call MPI_Request_free(persistent(2), error)
  call check(all(persistent == MPI_REQUEST_NULL), 'requests that were freed')

  ! An array that mixes the library's requests with the engine's.
  mixed = MPI_REQUEST_NULL
  call MPI_Irecv(taken, length, MPI_DOUBLE_PRECISION, MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, mixed(1), error)
  call MPI_Ibarrier(MPI_COMM_WORLD, mixed(2), error)
  call MPI_Issend(given, length, MPI_DOUBLE_PRECISION, to, 2, MPI_COMM_WORLD, mixed(4), error)
  do step = 1, 3
    call MPI_Waitany(4, mixed, found, state, error)
    call check(mixed(found) == MPI_REQUEST_NULL, 'a request that has ended')
  end do
  call MPI_Waitany(4, mixed, found, state, error)
  call check(found < 1, 'an array of null requests')  ! MPICH 4.0 adds 1 to MPI_UNDEFINED

  ! A message that a probe has claimed.
  call MPI_Isend(given, length, MPI_DOUBLE_PRECISION, to, 3, MPI_COMM_WORLD, mixed(1), error)
  call MPI_Mprobe(from, 3, MPI_COMM_WORLD, message, state, error)
  call MPI_Mrecv(taken, length, MPI_DOUBLE_PRECISION, message, state, error)
  call check(message == MPI_MESSAGE_NULL .and. state(MPI_TAG) == 3, 'a claimed message')
  call MPI_Wait(mixed(1), MPI_STATUS_IGNORE, error)

  call MPI_Sendrecv_replace(given, length, MPI_DOUBLE_PRECISION, to, 4, from, 4, MPI_COMM_WORLD, state, error)
  call MPI_Reduce(given(1), total, 1, MPI_DOUBLE_PRECISION, MPI_SUM, 0, MPI_COMM_WORLD, error)
  if (rank == 0) print '(a, f0.6)', 'total ', total
  call MPI_Finalize(error)

contains
  subroutine check(is_right, what)
    logical, intent(in) :: is_right
    character(*), intent(in) :: what
    integer :: ignored
    if (is_right) return
    print *, 'wrong: ', what
    call MPI_Abort(MPI_COMM_WORLD, 1, ignored)
  end subroutine check
end program requests
