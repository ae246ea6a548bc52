! SPDX-License-Identifier: Apache-2.0
!> Uses every part of the module plait, on 1 or more ranks. It prints nothing when all is right.
module tasks_of_everything
  use, intrinsic :: iso_c_binding
  use plait
  implicit none

  type :: counter
    integer :: count = 0
    integer :: limit = 100
  end type

contains

  recursive subroutine count_up(context, argument, ierr)
    type(plait_context), intent(in) :: context
    class(*), intent(inout) :: argument
    integer, intent(inout) :: ierr
    call plait_region_begin("count")
    select type (argument)
    type is (counter)
      argument%count = argument%count + 1
      if (argument%count > argument%limit) call plait_fail("the counter is above its limit: raise it", ierr)
    class default
      ierr = 17
    end select
    if (plait_context_worker(context) < 0) ierr = 18
    call plait_region_end()
  end subroutine

  recursive subroutine fill(memory, arguments, ierr)
    type(plait_memory), intent(in) :: memory(:)
    integer, intent(in) :: arguments(:)
    integer, intent(inout) :: ierr
    real(c_double), pointer :: values(:)
    call c_f_pointer(memory(1)%first, values, [memory(1)%bytes / 8])
    values = arguments(1)
    if (size(arguments) /= 2) ierr = 1
  end subroutine

  recursive subroutine add(memory, arguments, ierr)
    type(plait_memory), intent(in) :: memory(:)
    integer, intent(in) :: arguments(:)
    integer, intent(inout) :: ierr
    real(c_double), pointer :: from(:), to(:)
    call c_f_pointer(memory(1)%first, from, [memory(1)%bytes / 8])
    call c_f_pointer(memory(2)%first, to, [memory(2)%bytes / 8])
    to = to + from
    if (size(arguments) /= 0) ierr = 1
  end subroutine

  recursive subroutine refuse(memory, arguments, ierr)
    type(plait_memory), intent(in) :: memory(:)
    integer, intent(in) :: arguments(:)
    integer, intent(inout) :: ierr
    if (size(memory) + size(arguments) > 0) call plait_fail("tile 3 is singular: shift the matrix", ierr)
  end subroutine
end module

program everything
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: int32, int64, real32, real64, error_unit
#ifdef TEST_MPI_F08
  use mpi_f08
#else
  use mpi
#endif
  use plait
  use tasks_of_everything
  implicit none

  type(plait_runtime) :: runtime
  type(plait_group) :: group
  integer :: failures, provided, rank, ranks, next, last, error

  failures = 0
  call MPI_Init_thread(MPI_THREAD_SERIALIZED, provided, error)
  call plait_runtime_create(MPI_COMM_WORLD, runtime, workers=2, program="everything")
  rank = plait_rank(runtime)
  ranks = plait_rank_count(runtime)
  next = mod(rank + 1, ranks)
  last = mod(rank + ranks - 1, ranks)
  call plait_group_create(runtime, group)

  call plait_region_begin("test")
  call check(len(plait_version()) >= 5, "the version")
  call check(plait_worker_count(runtime) == 2, "workers")
  call check(plait_group_size(group) == ranks .and. plait_group_self(group) == rank, "the group")
  call send_sections()
  call send_to_any()
  call use_requests()
  call use_collectives()
  call run_graph()
  call run_flow()
  call get_errors()
  call plait_region_end()

  call plait_group_free(group)
  if (command_argument_count() > 0) call plait_send(runtime, failures, -3, 1)  ! ends the program
  call fail_in_flow()
  call MPI_Finalize(error)
  if (failures > 0) error stop 1

contains

  subroutine check(is_right, what)
    logical, intent(in) :: is_right
    character(*), intent(in) :: what
    if (is_right) return
    failures = failures + 1
    write (error_unit, "(a, i0, 4a)") "rank ", rank, ": wrong: ", what, "; last error: ", plait_last_error()
  end subroutine

  !> Rows, planes and every other element are sent from where they are, and received into others.
  subroutine send_sections()
    real(real64), asynchronous :: from(6, 5), to(5), cube(4, 4, 4), face(4, 4), whole(30)
    integer(int32), asynchronous :: numbers(20), odd(20)
    complex(real32), asynchronous :: waves(8), reversed(8)
    type(plait_request) :: requests(4)
    integer :: i, j, k
    from = reshape([(real(100 * rank + i, real64), i=1, 30)], [6, 5])
    numbers = [(100 * rank + i, i=1, 20)]
    odd = 0
    cube = 0
    do concurrent(i=1:4, j=1:4, k=1:4)
      cube(i, j, k) = 1000 * rank + 100 * k + 10 * j + i
    end do
    call plait_receive(runtime, to, last, 1, requests(1))
    call plait_receive(runtime, odd(2::2), last, 2, requests(2))
    call plait_send(runtime, from(3, :), next, 1, requests(3))
    call plait_send(runtime, numbers(1::2), next, 2, requests(4))
    call plait_wait_all(requests)
    call check(all(to == [(100 * last + 6 * i - 3, i=1, 5)]), "a row")
    call check(all(odd(2::2) == [(100 * last + i, i=1, 19, 2)]) .and. all(odd(1::2) == 0), "every other element")

    call plait_receive(runtime, face, last, 3, requests(1))
    call plait_send(runtime, cube(2, :, :), next, 3, requests(2))
    call plait_receive(runtime, cube(4:1:-1, 1, 3:4), last, 4, requests(3))
    call plait_send(runtime, face, next, 5)
    call plait_receive(runtime, whole(:16), last, 5)
    call plait_wait_all(requests(1:2))
    call check(all(face == reshape([((1000 * last + 100 * k + 10 * j + 2, j=1, 4), k=1, 4)], [4, 4])), "a plane")
    whole(:8) = [(i, i=1, 8)]
    call plait_send(runtime, whole(:8), next, 4)
    call plait_wait(requests(3))
    call check(all(cube(:, 1, 3) == [4, 3, 2, 1]) .and. all(cube(:, 1, 4) == [8, 7, 6, 5]), "a reversed section")

    waves = [(cmplx(i, rank), i=1, 8)]
    call plait_receive(runtime, reversed, last, 6, requests(1))
    call plait_send(runtime, waves(8:1:-1), next, 6)
    call plait_wait(requests(1))
    call check(all(reversed == [(cmplx(i, last), i=8, 1, -1)]), "a negative stride")
    call plait_send(runtime, waves(3:2), next, 7)
    call plait_receive(runtime, reversed(3:2), last, 7)
    call plait_send(runtime, rank, next, 8)
    call plait_receive(runtime, i, last, 8)
    call check(i == last, "a scalar")
  end subroutine

  subroutine send_to_any()
    type(plait_status) :: status
    logical :: has_arrived
    integer, asynchronous :: number
    number = rank
    has_arrived = .false.
    call plait_send(runtime, number, next, 9)
    do while (.not. has_arrived)
      call plait_progress(runtime)
      call plait_probe(runtime, PLAIT_ANY_SOURCE, 9, has_arrived, status)
    end do
    call check(status%source == last .and. status%tag == 9 .and. status%bytes == 4, "the status of a probe")
    call plait_receive(runtime, number, status%source, PLAIT_ANY_TAG)
    call check(number == last, "any tag")
  end subroutine

  subroutine use_requests()
    type(plait_request) :: request
    type(plait_status) :: status
    integer, asynchronous :: number
    logical :: is_complete, is_cancelled
    call plait_receive(runtime, number, last, 13, request)  ! which no rank sends
    call plait_cancel(request, is_cancelled)
    call check(is_cancelled, "a cancelled receive")
    call plait_receive(runtime, number, last, 10, request)
    call plait_send(runtime, rank, next, 10)
    is_complete = .false.
    do while (.not. is_complete)
      call plait_test(request, is_complete, status)
    end do
    call check(number == last .and. status%source == last, "a tested receive")
    call plait_wait(request)
  end subroutine

  subroutine use_collectives()
    integer(int32) :: counts(2)
    integer(int64) :: long
    real(real32) :: single
    complex(real64) :: wave
    real(real64), asynchronous :: mine(3), all_of_them(3, ranks), result(3)
    integer, asynchronous :: to(ranks), from(ranks)
    integer :: i
    counts = [1, rank]
    call plait_all_reduce(group, counts, PLAIT_SUM)
    call check(all(counts == [ranks, ranks * (ranks - 1) / 2]), "a sum of integers")
    long = rank
    call plait_all_reduce(group, long, PLAIT_MAXIMUM)
    call check(long == ranks - 1, "a maximum of long integers")
    single = rank
    call plait_all_reduce(group, single, PLAIT_MINIMUM)
    call check(abs(single) < tiny(single), "a minimum of reals")
    wave = (1, 2)
    call plait_all_reduce(group, wave, PLAIT_SUM)
    call check(wave == ranks * (1d0, 2d0), "a sum of complex numbers")
    mine = rank
    result = -1
    call plait_reduce(group, 0, mine, result, PLAIT_SUM)
    call check(all(result == merge(ranks * (ranks - 1) / 2, -1, rank == 0)), "a sum on one rank")
    call plait_all_gather(group, mine, all_of_them)
    call check(all(all_of_them(2, :) == [(i, i=0, ranks - 1)]), "all blocks")
    call plait_broadcast(group, ranks - 1, mine)
    call check(all(mine == ranks - 1), "a broadcast")
    to = [(100 * rank + i, i=0, ranks - 1)]
    call plait_all_to_all(group, to, from)
    call check(all(from == [(100 * i + rank, i=0, ranks - 1)]), "blocks of all")
    from = -1
    call plait_all_to_all(group, to, from, [(1, i=1, ranks)], [(1, i=1, ranks)])
    call check(all(from == [(100 * i + rank, i=0, ranks - 1)]), "blocks of given sizes")
    call plait_barrier(group)
  end subroutine

  subroutine run_graph()
    type(plait_graph) :: graph
    type(plait_task) :: receive, first, second
    type(plait_resource) :: resource
    type(counter), target :: counts
    real(real64), asynchronous :: edge(4, 4), halo(4)
    integer :: ierr
    edge = rank
    halo = -1
    call plait_graph_create(runtime, graph)
    call plait_resource_create(resource)
    call plait_graph_task(graph, "count", count_up, counts, first)
    call plait_graph_task(graph, "count", count_up, counts, second)
    call plait_task_locks(first, resource)
    call plait_task_locks(second, resource)
    call plait_graph_send(graph, "send", edge(1, :), next, 11)
    call plait_graph_receive(graph, "receive", halo, last, 11, receive)
    call plait_task_after(second, receive)
    call plait_task_cost(second, 1d-6)
    call plait_task_object(second, 5)
    call plait_graph_run(graph)
    call check(counts%count == 2 .and. all(halo == last), "a graph")
    call plait_graph_run(graph, active=[first], ierr=ierr)
    call check(counts%count == 3 .and. ierr == PLAIT_SUCCESS, "an active task")
    call plait_graph_free(graph)
    call plait_resource_free(resource)
  end subroutine

  subroutine run_flow()
    type(plait_flow) :: flow
    type(plait_data) :: a, b
    real(c_double), asynchronous :: sum(10)
    real(c_double), pointer :: values(:)
    type(c_ptr) :: memory
    integer :: i
    sum = 1
    call plait_flow_create(runtime, flow)
    call plait_flow_data(flow, 0, a, bytes=80_c_size_t)
    call plait_flow_data(flow, ranks - 1, b, memory=sum)
    do i = 1, 4
      call plait_flow_submit(flow, "fill", fill, [plait_write(a)], [i, 0])
      call plait_flow_submit(flow, "add", add, [plait_read(a), plait_read_write(b)], priority=1)
    end do
    call plait_flow_flush(flow, a)
    call plait_flow_wait(flow)
    call check(all(sum == merge(11, 1, rank == ranks - 1)), "a flow")
    if (rank == 0) then
      call plait_data_local(a, memory)
      call c_f_pointer(memory, values, [10])
      call check(all(values == 4), "data of a flow")
    end if
    call plait_flow_free(flow)
  end subroutine

  subroutine get_errors()
    integer :: ierr
    integer, asynchronous :: numbers(4, 4)
    numbers = 0
    call plait_send(runtime, numbers, -3, 1, ierr=ierr)
    call check(ierr == PLAIT_BAD_ARGUMENT .and. index(plait_last_error(), "rank -3") > 0, "an invalid rank")
    call check(len(plait_error_text(ierr)) > 10, "the text of an error")
    call plait_all_reduce(group, numbers(1, :), PLAIT_SUM, ierr=ierr)
    call check(ierr == PLAIT_BAD_ARGUMENT .and. index(plait_last_error(), "contiguous") > 0, "a section in a collective")
    call plait_send(runtime, numbers, next, 12)
    call plait_receive(runtime, numbers(1:2, 1), last, 12, ierr=ierr)
    call check(ierr == PLAIT_TRUNCATED, "a truncated message")
    call plait_all_gather(group, numbers, numbers(:, 1:3), ierr=ierr)
    call check(ierr == PLAIT_BAD_ARGUMENT, "blocks that do not fit")
  end subroutine

  !> The last part: after it the run has failed.
  subroutine fail_in_flow()
    type(plait_flow) :: flow
    type(plait_data) :: a
    integer :: ierr, i
    integer, asynchronous :: here(1)
    call plait_flow_create(runtime, flow)
    call plait_flow_data(flow, 0, a, bytes=8_c_size_t)
    ! Rank 0 fails when the others expect it: they get its error from then on.
    here = rank
    if (rank == 0) then
      do i = 1, ranks - 1
        call plait_receive(runtime, here, i, 13)
      end do
    else
      call plait_send(runtime, here, 0, 13, ierr=ierr)
    end if
    call plait_flow_submit(flow, "refuse", refuse, [plait_write(a)], ierr=ierr)
    call plait_flow_wait(flow, ierr)
    call check(ierr /= PLAIT_SUCCESS .and. index(plait_last_error(), "tile 3 is singular") > 0, "an error in a task")
    call plait_flow_free(flow)
    call plait_runtime_free(runtime)
  end subroutine
end program
