! SPDX-License-Identifier: Apache-2.0
!> The functions of plait.h that the module plait calls, as they are. Programs use the module plait.
module plait_c
  use, intrinsic :: iso_c_binding
  implicit none
  public

  !> As plait_layout of plait.h.
  type, bind(C) :: plait_layout
    type(c_ptr) :: first
    integer(c_size_t) :: block_bytes
    integer(c_int) :: dimensions
    integer(c_size_t) :: counts(15)
    integer(c_ptrdiff_t) :: strides(15)
  end type

  !> As plait_options.
  type, bind(C) :: c_options
    integer(c_size_t) :: size
    integer(c_int) :: workers
    integer(c_int) :: progression
    type(c_ptr) :: trace_folder
    type(c_ptr) :: network
    type(c_ptr) :: program
    real(c_double) :: stall_seconds
  end type

  !> As plait_submission.
  type, bind(C) :: c_submission
    type(c_ptr) :: kind
    type(c_funptr) :: function
    type(c_ptr) :: argument
    integer(c_size_t) :: argument_bytes
    integer(c_int) :: priority
    integer(c_int) :: runs_elsewhere
    integer(c_int) :: rank
  end type

  interface
    ! ---- support.c ----
    integer(c_int) function fortran_layout(array, layout) bind(C, name="plait_fortran_layout")
      import
      type(*), dimension(..), intent(in) :: array
      type(plait_layout), intent(out) :: layout
    end function
    integer(c_int) function fortran_contiguous(array, first, bytes) bind(C, name="plait_fortran_contiguous")
      import
      type(*), dimension(..), intent(in) :: array
      type(c_ptr), intent(out) :: first
      integer(c_size_t), intent(out) :: bytes
    end function
    integer(c_int) function fortran_type(array, element) bind(C, name="plait_fortran_type")
      import
      type(*), dimension(..), intent(in) :: array
      integer(c_int), intent(out) :: element
    end function
    subroutine fortran_stop(error) bind(C, name="plait_fortran_stop")
      import
      integer(c_int), value :: error
    end subroutine

    ! ---- versions and errors ----
    type(c_ptr) function c_version() bind(C, name="plait_version")
      import
    end function
    type(c_ptr) function c_error_text(error) bind(C, name="plait_error_text")
      import
      integer(c_int), value :: error
    end function
    type(c_ptr) function c_last_error() bind(C, name="plait_last_error")
      import
    end function
    integer(c_int) function c_fail(error, sentence) bind(C, name="plait_fail")
      import
      integer(c_int), value :: error
      character(kind=c_char), intent(in) :: sentence(*)
    end function
    integer(c_size_t) function c_strlen(text) bind(C, name="strlen")
      import
      type(c_ptr), value :: text
    end function

    ! ---- runtimes ----
    integer(c_int) function c_options_init(options, size) bind(C, name="plait_options_init")
      import
      type(c_options), intent(out) :: options
      integer(c_size_t), value :: size
    end function
    integer(c_int) function c_runtime_create(communicator, options, runtime) bind(C, name="plait_runtime_create_f")
      import
      integer(c_int), value :: communicator
      type(c_options), intent(in) :: options
      type(c_ptr), intent(inout) :: runtime
    end function
    integer(c_int) function c_runtime_free(runtime) bind(C, name="plait_runtime_free")
      import
      type(c_ptr), intent(inout) :: runtime
    end function
    integer(c_int) function c_rank(runtime) bind(C, name="plait_rank")
      import
      type(c_ptr), value :: runtime
    end function
    integer(c_int) function c_rank_count(runtime) bind(C, name="plait_rank_count")
      import
      type(c_ptr), value :: runtime
    end function
    integer(c_int) function c_worker_count(runtime) bind(C, name="plait_worker_count")
      import
      type(c_ptr), value :: runtime
    end function
    integer(c_int) function c_progress(runtime) bind(C, name="plait_progress")
      import
      type(c_ptr), value :: runtime
    end function

    ! ---- messages; `request` and `status` are addresses, or null ----
    integer(c_int) function c_send(runtime, layout, to, tag, request) bind(C, name="plait_send_layout")
      import
      type(c_ptr), value :: runtime, request
      type(plait_layout), intent(in) :: layout
      integer(c_int), value :: to
      integer(c_int64_t), value :: tag
    end function
    integer(c_int) function c_receive(runtime, layout, from, tag, request) bind(C, name="plait_receive_layout")
      import
      type(c_ptr), value :: runtime, request
      type(plait_layout), intent(in) :: layout
      integer(c_int), value :: from
      integer(c_int64_t), value :: tag
    end function
    integer(c_int) function c_probe(runtime, from, tag, has_arrived, status) bind(C, name="plait_probe")
      import
      type(c_ptr), value :: runtime, status
      integer(c_int), value :: from
      integer(c_int64_t), value :: tag
      integer(c_int), intent(out) :: has_arrived
    end function
    integer(c_int) function c_wait(request, status) bind(C, name="plait_wait")
      import
      type(c_ptr), intent(inout) :: request
      type(c_ptr), value :: status
    end function
    integer(c_int) function c_test(request, is_complete, status) bind(C, name="plait_test")
      import
      type(c_ptr), intent(inout) :: request
      integer(c_int), intent(out) :: is_complete
      type(c_ptr), value :: status
    end function
    integer(c_int) function c_wait_all(count, requests, statuses) bind(C, name="plait_wait_all")
      import
      integer(c_size_t), value :: count
      type(c_ptr), value :: requests, statuses
    end function
    integer(c_int) function c_cancel(request, is_cancelled) bind(C, name="plait_cancel")
      import
      type(c_ptr), intent(inout) :: request
      integer(c_int), intent(out) :: is_cancelled
    end function

    ! ---- collectives ----
    integer(c_int) function c_group_create(runtime, count, ranks, group) bind(C, name="plait_group_create")
      import
      type(c_ptr), value :: runtime
      integer(c_size_t), value :: count
      integer(c_int), intent(in) :: ranks(*)
      type(c_ptr), intent(inout) :: group
    end function
    integer(c_int) function c_group_free(group) bind(C, name="plait_group_free")
      import
      type(c_ptr), intent(inout) :: group
    end function
    integer(c_size_t) function c_group_size(group) bind(C, name="plait_group_size")
      import
      type(c_ptr), value :: group
    end function
    integer(c_size_t) function c_group_self(group) bind(C, name="plait_group_self")
      import
      type(c_ptr), value :: group
    end function
    integer(c_int) function c_barrier(group, request) bind(C, name="plait_barrier")
      import
      type(c_ptr), value :: group, request
    end function
    integer(c_int) function c_broadcast(group, root, data, bytes, request) bind(C, name="plait_broadcast")
      import
      type(c_ptr), value :: group, data, request
      integer(c_size_t), value :: root, bytes
    end function
    integer(c_int) function c_all_gather(group, mine, bytes, all, request) bind(C, name="plait_all_gather")
      import
      type(c_ptr), value :: group, mine, all, request
      integer(c_size_t), value :: bytes
    end function
    integer(c_int) function c_all_to_all(group, to, from, bytes, request) bind(C, name="plait_all_to_all")
      import
      type(c_ptr), value :: group, to, from, request
      integer(c_size_t), value :: bytes
    end function
    integer(c_int) function c_all_to_all_blocks(group, to, to_bytes, from, from_bytes, request) &
        bind(C, name="plait_all_to_all_blocks")
      import
      type(c_ptr), value :: group, to, from, request
      integer(c_size_t), intent(in) :: to_bytes(*), from_bytes(*)
    end function
    integer(c_int) function c_reduce(group, root, mine, result, count, element, operation, request) &
        bind(C, name="plait_reduce")
      import
      type(c_ptr), value :: group, mine, result, request
      integer(c_size_t), value :: root, count
      integer(c_int), value :: element, operation
    end function
    integer(c_int) function c_all_reduce(group, data, count, element, operation, request) &
        bind(C, name="plait_all_reduce")
      import
      type(c_ptr), value :: group, data, request
      integer(c_size_t), value :: count
      integer(c_int), value :: element, operation
    end function

    ! ---- regions ----
    subroutine c_region_begin(name) bind(C, name="plait_region_begin")
      import
      character(kind=c_char), intent(in) :: name(*)
    end subroutine
    subroutine c_region_end() bind(C, name="plait_region_end")
    end subroutine

    ! ---- graphs ----
    integer(c_int) function c_context_worker(context) bind(C, name="plait_context_worker")
      import
      type(c_ptr), value :: context
    end function
    integer(c_int) function c_graph_create(runtime, graph) bind(C, name="plait_graph_create")
      import
      type(c_ptr), value :: runtime
      type(c_ptr), intent(inout) :: graph
    end function
    integer(c_int) function c_graph_free(graph) bind(C, name="plait_graph_free")
      import
      type(c_ptr), intent(inout) :: graph
    end function
    integer(c_int) function c_graph_task(graph, kind, function, argument, task) bind(C, name="plait_graph_task")
      import
      type(c_ptr), value :: graph, argument
      character(kind=c_char), intent(in) :: kind(*)
      type(c_funptr), value :: function
      type(c_ptr), intent(inout) :: task
    end function
    integer(c_int) function c_graph_join(graph, kind, task) bind(C, name="plait_graph_join")
      import
      type(c_ptr), value :: graph
      character(kind=c_char), intent(in) :: kind(*)
      type(c_ptr), intent(inout) :: task
    end function
    integer(c_int) function c_graph_send(graph, kind, layout, to, tag, task) bind(C, name="plait_graph_send")
      import
      type(c_ptr), value :: graph
      character(kind=c_char), intent(in) :: kind(*)
      type(plait_layout), intent(in) :: layout
      integer(c_int), value :: to
      integer(c_int64_t), value :: tag
      type(c_ptr), intent(inout) :: task
    end function
    integer(c_int) function c_graph_receive(graph, kind, layout, from, tag, task) bind(C, name="plait_graph_receive")
      import
      type(c_ptr), value :: graph
      character(kind=c_char), intent(in) :: kind(*)
      type(plait_layout), intent(in) :: layout
      integer(c_int), value :: from
      integer(c_int64_t), value :: tag
      type(c_ptr), intent(inout) :: task
    end function
    integer(c_int) function c_task_after(task, earlier) bind(C, name="plait_task_after")
      import
      type(c_ptr), value :: task, earlier
    end function
    integer(c_int) function c_task_cost(task, seconds) bind(C, name="plait_task_cost")
      import
      type(c_ptr), value :: task
      real(c_double), value :: seconds
    end function
    integer(c_int) function c_task_object(task, number) bind(C, name="plait_task_object")
      import
      type(c_ptr), value :: task
      integer(c_int64_t), value :: number
    end function
    integer(c_int) function c_task_locks(task, resource) bind(C, name="plait_task_locks")
      import
      type(c_ptr), value :: task, resource
    end function
    integer(c_int) function c_task_shares(task, resource) bind(C, name="plait_task_shares")
      import
      type(c_ptr), value :: task, resource
    end function
    integer(c_int) function c_resource_create(parent, resource) bind(C, name="plait_resource_create")
      import
      type(c_ptr), value :: parent
      type(c_ptr), intent(inout) :: resource
    end function
    integer(c_int) function c_resource_free(resource) bind(C, name="plait_resource_free")
      import
      type(c_ptr), intent(inout) :: resource
    end function
    integer(c_int) function c_graph_run(graph) bind(C, name="plait_graph_run")
      import
      type(c_ptr), value :: graph
    end function
    integer(c_int) function c_graph_run_active(graph, count, active) bind(C, name="plait_graph_run_active")
      import
      type(c_ptr), value :: graph
      integer(c_size_t), value :: count
      type(c_ptr), intent(in) :: active(*)
    end function

    ! ---- task flow ----
    integer(c_int) function c_flow_create(runtime, flow) bind(C, name="plait_flow_create")
      import
      type(c_ptr), value :: runtime
      type(c_ptr), intent(inout) :: flow
    end function
    integer(c_int) function c_flow_free(flow) bind(C, name="plait_flow_free")
      import
      type(c_ptr), intent(inout) :: flow
    end function
    integer(c_int) function c_flow_data(flow, owner, bytes, memory, data) bind(C, name="plait_flow_data")
      import
      type(c_ptr), value :: flow, memory
      integer(c_int), value :: owner
      integer(c_size_t), value :: bytes
      type(c_ptr), intent(inout) :: data
    end function
    integer(c_int) function c_data_local(data, memory) bind(C, name="plait_data_local")
      import
      type(c_ptr), value :: data
      type(c_ptr), intent(inout) :: memory
    end function
    integer(c_int) function c_flow_submit(flow, submission, count, accesses) bind(C, name="plait_flow_submit")
      import
      type(c_ptr), value :: flow, accesses
      type(c_submission), intent(in) :: submission
      integer(c_size_t), value :: count
    end function
    integer(c_int) function c_flow_flush(flow, data) bind(C, name="plait_flow_flush")
      import
      type(c_ptr), value :: flow, data
    end function
    integer(c_int) function c_flow_wait(flow) bind(C, name="plait_flow_wait")
      import
      type(c_ptr), value :: flow
    end function
  end interface
end module plait_c
