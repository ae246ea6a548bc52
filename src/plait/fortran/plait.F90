! SPDX-License-Identifier: Apache-2.0
!> plait for Fortran: what plait.h has for C, under the same names. plait.h documents each procedure; here is what differs.
!!
!! Errors. Every subroutine that can fail has an optional last argument `ierr`, which gets PLAIT_SUCCESS or an error, whose
!! sentence plait_last_error() returns. Without `ierr`, an error ends the program with its sentence.
!!
!! Arrays. Messages take arrays of any type and rank, and sections of them without a copy. Arrays of operations under way
!! should be declared `asynchronous`, as for MPI. Ranks, roots and workers count from 0, as in MPI.
!!
!! Procedures of tasks run on threads of the library: they must be `recursive`, or compiled so that their local variables
!! are on the stack (gfortran: -frecursive or -fopenmp).
!!
!! One module, as programs expect it: each part has a heading of its own.
module plait
  use, intrinsic :: iso_c_binding
  use plait_c
#ifdef PLAIT_HAS_MPI_F08
  use mpi_f08, only: MPI_Comm
#endif
  implicit none
  private

  public :: plait_version, plait_error_text, plait_last_error, plait_fail
  public :: plait_runtime_create, plait_runtime_free, plait_rank, plait_rank_count, plait_worker_count, plait_progress
  public :: plait_send, plait_receive, plait_probe, plait_wait, plait_test, plait_wait_all, plait_cancel
  public :: plait_group_create, plait_group_free, plait_group_size, plait_group_self
  public :: plait_barrier, plait_broadcast, plait_all_gather, plait_all_to_all, plait_reduce, plait_all_reduce
  public :: plait_region_begin, plait_region_end
  public :: plait_graph_create, plait_graph_free, plait_graph_task, plait_graph_join, plait_graph_send
  public :: plait_graph_receive, plait_graph_run, plait_task_after, plait_task_cost, plait_task_object
  public :: plait_task_locks, plait_task_shares, plait_resource_create, plait_resource_free, plait_context_worker
  public :: plait_flow_create, plait_flow_free, plait_flow_data, plait_data_local, plait_flow_submit, plait_flow_flush
  public :: plait_flow_wait, plait_read, plait_write, plait_read_write, plait_commute

  integer, parameter, public :: PLAIT_SUCCESS = 0, PLAIT_BAD_ARGUMENT = 1, PLAIT_BAD_INPUT = 2, PLAIT_IO = 3, &
    PLAIT_TRUNCATED = 4, PLAIT_OUT_OF_MEMORY = 5, PLAIT_NETWORK = 6, PLAIT_PEER_FAILED = 7, PLAIT_TIMEOUT = 8, &
    PLAIT_USER_TASK = 9, PLAIT_UNKNOWN = 10
  integer, parameter, public :: PLAIT_PROGRESSION_UNSET = 0, PLAIT_PROGRESSION_AUTOMATIC = 1, &
    PLAIT_PROGRESSION_NONE = 2, PLAIT_PROGRESSION_TIMER = 3, PLAIT_PROGRESSION_IDLE = 4, PLAIT_PROGRESSION_DEDICATED = 5
  integer, parameter, public :: PLAIT_ANY_SOURCE = -1, PLAIT_ANY_TAG = -1
  integer, parameter, public :: PLAIT_SUM = 0, PLAIT_MINIMUM = 1, PLAIT_MAXIMUM = 2

  type, bind(C), public :: plait_runtime
    private
    type(c_ptr) :: handle = c_null_ptr
  end type
  type, bind(C), public :: plait_request
    private
    type(c_ptr) :: handle = c_null_ptr
  end type
  type, bind(C), public :: plait_group
    private
    type(c_ptr) :: handle = c_null_ptr
  end type
  type, bind(C), public :: plait_task
    private
    type(c_ptr) :: handle = c_null_ptr
  end type
  type, bind(C), public :: plait_resource
    private
    type(c_ptr) :: handle = c_null_ptr
  end type
  type, bind(C), public :: plait_context
    private
    type(c_ptr) :: handle = c_null_ptr
  end type
  type, bind(C), public :: plait_flow
    private
    type(c_ptr) :: handle = c_null_ptr
  end type
  type, bind(C), public :: plait_data
    private
    type(c_ptr) :: handle = c_null_ptr
  end type

  type, bind(C), public :: plait_status
    integer(c_int) :: source = -1
    integer(c_int) :: error = 0
    integer(c_int64_t) :: tag = -1
    integer(c_size_t) :: bytes = 0
  end type

  !> What a task of a flow does to data: by plait_read, plait_write, plait_read_write or plait_commute.
  type, bind(C), public :: plait_access
    private
    type(c_ptr) :: data
    integer(c_int) :: mode
  end type

  !> Memory of an access: c_f_pointer gives it a type and a shape.
  type, bind(C), public :: plait_memory
    type(c_ptr) :: first
    integer(c_size_t) :: bytes
  end type

  abstract interface
    !> A task of a graph. `ierr` is 0 at the start; another value ends the run on all ranks, as does plait_fail.
    subroutine plait_procedure(context, argument, ierr)
      import :: plait_context
      type(plait_context), intent(in) :: context
      class(*), intent(inout) :: argument
      integer, intent(inout) :: ierr
    end subroutine
    !> A task of a flow: `memory` has an element for each access, `arguments` are those of plait_flow_submit.
    subroutine plait_flow_procedure(memory, arguments, ierr)
      import :: plait_memory
      type(plait_memory), intent(in) :: memory(:)
      integer, intent(in) :: arguments(:)
      integer, intent(inout) :: ierr
    end subroutine
  end interface
  public :: plait_procedure, plait_flow_procedure

  !> A procedure and its argument, for C; owned by its graph.
  type :: task_box
    procedure(plait_procedure), pointer, nopass :: procedure => null()
    class(*), pointer :: argument => null()
    type(task_box), pointer :: next => null()
  end type

  type, public :: plait_graph
    private
    type(c_ptr) :: handle = c_null_ptr
    type(task_box), pointer :: boxes => null()
  end type

  !> Integers that a task of a flow can have.
  integer, parameter, public :: PLAIT_ARGUMENTS_MAX = 16

  !> A procedure of a flow and its arguments, which C copies.
  type, bind(C) :: flow_box
    type(c_funptr) :: procedure
    integer(c_int) :: access_count
    integer(c_int) :: argument_count
    integer(c_int) :: arguments(PLAIT_ARGUMENTS_MAX)
  end type

  !> The communicator is a type(MPI_Comm) of mpi_f08, or an integer.
  interface plait_runtime_create
    module procedure create_runtime
#ifdef PLAIT_HAS_MPI_F08
    module procedure create_runtime_f08
#endif
  end interface

contains

  ! ---- versions and errors ----

  function plait_version() result(text)
    character(:), allocatable :: text
    text = text_at(c_version())
  end function

  function plait_error_text(error) result(text)
    integer, intent(in) :: error
    character(:), allocatable :: text
    text = text_at(c_error_text(int(error, c_int)))
  end function

  function plait_last_error() result(text)
    character(:), allocatable :: text
    text = text_at(c_last_error())
  end function

  !> Sets the sentence of an error, and `ierr` to PLAIT_USER_TASK: for procedures of tasks.
  subroutine plait_fail(sentence, ierr)
    character(*), intent(in) :: sentence
    integer, intent(inout) :: ierr
    ierr = c_fail(int(PLAIT_USER_TASK, c_int), sentence // c_null_char)
  end subroutine

  function text_at(address) result(text)
    type(c_ptr), intent(in) :: address
    character(:), allocatable :: text
    character(kind=c_char), pointer :: letters(:)
    integer :: i
    call c_f_pointer(address, letters, [c_strlen(address)])
    allocate (character(size(letters)) :: text)
    do i = 1, size(letters)
      text(i:i) = letters(i)
    end do
  end function

  !> Gives an error to the caller, or ends the program if it does not ask for errors.
  subroutine finish(error, ierr)
    integer(c_int), intent(in) :: error
    integer, intent(out), optional :: ierr
    if (present(ierr)) then
      ierr = error
    else if (error /= PLAIT_SUCCESS) then
      call fortran_stop(error)
    end if
  end subroutine

  ! ---- runtimes ----

  !> Settings that are left out are read from the environment.
  subroutine create_runtime(communicator, runtime, workers, progression, trace_folder, network, program, &
                            stall_seconds, ierr)
    integer, intent(in) :: communicator
    type(plait_runtime), intent(out) :: runtime
    integer, intent(in), optional :: workers, progression
    character(*), intent(in), optional :: trace_folder, network, program
    double precision, intent(in), optional :: stall_seconds
    integer, intent(out), optional :: ierr
    type(c_options) :: options
    character(:), allocatable, target :: folder_text, network_text, program_text
    integer(c_int) :: error
    error = c_options_init(options, c_sizeof(options))
    if (present(workers)) options%workers = int(workers, c_int)
    if (present(progression)) options%progression = int(progression, c_int)
    if (present(stall_seconds)) options%stall_seconds = stall_seconds
    if (present(trace_folder)) then
      folder_text = trim(trace_folder) // c_null_char
      options%trace_folder = c_loc(folder_text)
    end if
    if (present(network)) then
      network_text = trim(network) // c_null_char
      options%network = c_loc(network_text)
    end if
    if (present(program)) then
      program_text = trim(program) // c_null_char
      options%program = c_loc(program_text)
    end if
    if (error == PLAIT_SUCCESS) error = c_runtime_create(int(communicator, c_int), options, runtime%handle)
    call finish(error, ierr)
  end subroutine

#ifdef PLAIT_HAS_MPI_F08
  subroutine create_runtime_f08(communicator, runtime, workers, progression, trace_folder, network, program, &
                                stall_seconds, ierr)
    type(MPI_Comm), intent(in) :: communicator
    type(plait_runtime), intent(out) :: runtime
    integer, intent(in), optional :: workers, progression
    character(*), intent(in), optional :: trace_folder, network, program
    double precision, intent(in), optional :: stall_seconds
    integer, intent(out), optional :: ierr
    call create_runtime(communicator%MPI_VAL, runtime, workers, progression, trace_folder, network, program, &
                        stall_seconds, ierr)
  end subroutine
#endif

  subroutine plait_runtime_free(runtime, ierr)
    type(plait_runtime), intent(inout) :: runtime
    integer, intent(out), optional :: ierr
    call finish(c_runtime_free(runtime%handle), ierr)
  end subroutine

  integer function plait_rank(runtime)
    type(plait_runtime), intent(in) :: runtime
    plait_rank = c_rank(runtime%handle)
  end function

  integer function plait_rank_count(runtime)
    type(plait_runtime), intent(in) :: runtime
    plait_rank_count = c_rank_count(runtime%handle)
  end function

  integer function plait_worker_count(runtime)
    type(plait_runtime), intent(in) :: runtime
    plait_worker_count = c_worker_count(runtime%handle)
  end function

  subroutine plait_progress(runtime, ierr)
    type(plait_runtime), intent(in) :: runtime
    integer, intent(out), optional :: ierr
    call finish(c_progress(runtime%handle), ierr)
  end subroutine

  ! ---- messages ----

  !> The address of a request that C fills in, or null: then C waits.
  type(c_ptr) function place_of(request)
    type(plait_request), intent(in), optional, target :: request
    place_of = c_null_ptr
    if (present(request)) place_of = c_loc(request)
  end function

  type(c_ptr) function place_of_status(status)
    type(plait_status), intent(in), optional, target :: status
    place_of_status = c_null_ptr
    if (present(status)) place_of_status = c_loc(status)
  end function

  !> Sends an array or a section. Without `request` it waits until the array may be changed.
  subroutine plait_send(runtime, data, to, tag, request, ierr)
    type(plait_runtime), intent(in) :: runtime
    type(*), dimension(..), intent(in), asynchronous :: data
    integer, intent(in) :: to, tag
    type(plait_request), intent(out), optional, target :: request
    integer, intent(out), optional :: ierr
    type(plait_layout) :: layout
    integer(c_int) :: error
    error = fortran_layout(data, layout)
    if (error == PLAIT_SUCCESS) then
      error = c_send(runtime%handle, layout, int(to, c_int), int(tag, c_int64_t), place_of(request))
    end if
    call finish(error, ierr)
  end subroutine

  !> Receives into an array or a section. Without `request` it waits for the message.
  subroutine plait_receive(runtime, buffer, from, tag, request, ierr)
    type(plait_runtime), intent(in) :: runtime
    type(*), dimension(..), intent(inout), asynchronous :: buffer
    integer, intent(in) :: from, tag
    type(plait_request), intent(out), optional, target :: request
    integer, intent(out), optional :: ierr
    type(plait_layout) :: layout
    integer(c_int) :: error
    error = fortran_layout(buffer, layout)
    if (error == PLAIT_SUCCESS) then
      error = c_receive(runtime%handle, layout, int(from, c_int), int(tag, c_int64_t), place_of(request))
    end if
    call finish(error, ierr)
  end subroutine

  subroutine plait_probe(runtime, from, tag, has_arrived, status, ierr)
    type(plait_runtime), intent(in) :: runtime
    integer, intent(in) :: from, tag
    logical, intent(out) :: has_arrived
    type(plait_status), intent(out), optional, target :: status
    integer, intent(out), optional :: ierr
    integer(c_int) :: error, found
    found = 0
    error = c_probe(runtime%handle, int(from, c_int), int(tag, c_int64_t), found, place_of_status(status))
    has_arrived = found /= 0
    call finish(error, ierr)
  end subroutine

  subroutine plait_wait(request, status, ierr)
    type(plait_request), intent(inout) :: request
    type(plait_status), intent(out), optional, target :: status
    integer, intent(out), optional :: ierr
    call finish(c_wait(request%handle, place_of_status(status)), ierr)
  end subroutine

  subroutine plait_test(request, is_complete, status, ierr)
    type(plait_request), intent(inout) :: request
    logical, intent(out) :: is_complete
    type(plait_status), intent(out), optional, target :: status
    integer, intent(out), optional :: ierr
    integer(c_int) :: error, flag
    error = c_test(request%handle, flag, place_of_status(status))
    is_complete = flag /= 0
    call finish(error, ierr)
  end subroutine

  subroutine plait_wait_all(requests, statuses, ierr)
    type(plait_request), intent(inout), contiguous, target :: requests(:)
    type(plait_status), intent(out), optional, contiguous, target :: statuses(:)
    integer, intent(out), optional :: ierr
    type(c_ptr) :: place
    integer(c_int) :: error
    place = c_null_ptr
    if (present(statuses)) then
      if (size(statuses) < size(requests)) then
        error = c_fail(int(PLAIT_BAD_ARGUMENT, c_int), "there are fewer statuses than requests: give one for each" // &
                       c_null_char)
        call finish(error, ierr)
        return
      end if
      place = c_loc(statuses)
    end if
    error = c_wait_all(size(requests, kind=c_size_t), c_loc(requests), place)
    call finish(error, ierr)
  end subroutine

  subroutine plait_cancel(request, is_cancelled, ierr)
    type(plait_request), intent(inout) :: request
    logical, intent(out) :: is_cancelled
    integer, intent(out), optional :: ierr
    integer(c_int) :: error, flag
    error = c_cancel(request%handle, flag)
    is_cancelled = flag /= 0
    call finish(error, ierr)
  end subroutine

  ! ---- collectives; arrays are contiguous ----

  !> Creates a group of `ranks` or, without them, of all ranks.
  subroutine plait_group_create(runtime, group, ranks, ierr)
    type(plait_runtime), intent(in) :: runtime
    type(plait_group), intent(out) :: group
    integer, intent(in), optional :: ranks(:)
    integer, intent(out), optional :: ierr
    integer(c_int), allocatable :: members(:)
    allocate (members(0))
    if (present(ranks)) members = int(ranks, c_int)
    call finish(c_group_create(runtime%handle, size(members, kind=c_size_t), members, group%handle), ierr)
  end subroutine

  subroutine plait_group_free(group, ierr)
    type(plait_group), intent(inout) :: group
    integer, intent(out), optional :: ierr
    call finish(c_group_free(group%handle), ierr)
  end subroutine

  integer function plait_group_size(group)
    type(plait_group), intent(in) :: group
    plait_group_size = int(c_group_size(group%handle))
  end function

  integer function plait_group_self(group)
    type(plait_group), intent(in) :: group
    plait_group_self = int(c_group_self(group%handle))
  end function

  subroutine plait_barrier(group, request, ierr)
    type(plait_group), intent(in) :: group
    type(plait_request), intent(out), optional, target :: request
    integer, intent(out), optional :: ierr
    call finish(c_barrier(group%handle, place_of(request)), ierr)
  end subroutine

  subroutine plait_broadcast(group, root, data, request, ierr)
    type(plait_group), intent(in) :: group
    integer, intent(in) :: root
    type(*), dimension(..), intent(inout), asynchronous :: data
    type(plait_request), intent(out), optional, target :: request
    integer, intent(out), optional :: ierr
    type(c_ptr) :: first
    integer(c_size_t) :: bytes
    integer(c_int) :: error
    error = fortran_contiguous(data, first, bytes)
    if (error == PLAIT_SUCCESS) then
      error = c_broadcast(group%handle, int(root, c_size_t), first, bytes, place_of(request))
    end if
    call finish(error, ierr)
  end subroutine

  !> `all` has room for `mine` of every member.
  subroutine plait_all_gather(group, mine, all, request, ierr)
    type(plait_group), intent(in) :: group
    type(*), dimension(..), intent(in), asynchronous :: mine
    type(*), dimension(..), intent(inout), asynchronous :: all
    type(plait_request), intent(out), optional, target :: request
    integer, intent(out), optional :: ierr
    type(c_ptr) :: first, all_first
    integer(c_size_t) :: bytes, all_bytes
    integer(c_int) :: error
    error = fortran_contiguous(mine, first, bytes)
    if (error == PLAIT_SUCCESS) error = fortran_contiguous(all, all_first, all_bytes)
    if (error == PLAIT_SUCCESS .and. all_bytes /= bytes * c_group_size(group%handle)) then
      error = c_fail(int(PLAIT_BAD_ARGUMENT, c_int), "the array of all blocks has not one block for each member" // &
                     c_null_char)
    end if
    if (error == PLAIT_SUCCESS) error = c_all_gather(group%handle, first, bytes, all_first, place_of(request))
    call finish(error, ierr)
  end subroutine

  !> Equal blocks of `to` go to the members, and come from them into `from`. With counts, blocks have these numbers of
  !! elements.
  subroutine plait_all_to_all(group, to, from, to_counts, from_counts, request, ierr)
    type(plait_group), intent(in) :: group
    type(*), dimension(..), intent(in), asynchronous :: to
    type(*), dimension(..), intent(inout), asynchronous :: from
    integer, intent(in), optional :: to_counts(:), from_counts(:)
    type(plait_request), intent(out), optional, target :: request
    integer, intent(out), optional :: ierr
    type(c_ptr) :: to_first, from_first
    integer(c_size_t) :: to_bytes, from_bytes, members
    integer(c_int) :: error
    members = c_group_size(group%handle)
    error = fortran_contiguous(to, to_first, to_bytes)
    if (error == PLAIT_SUCCESS) error = fortran_contiguous(from, from_first, from_bytes)
    if (error == PLAIT_SUCCESS) error = check_blocks(members, to_bytes, elements(to), to_counts)
    if (error == PLAIT_SUCCESS) error = check_blocks(members, from_bytes, elements(from), from_counts)
    if (error == PLAIT_SUCCESS .and. (present(to_counts) .neqv. present(from_counts))) then
      error = c_fail(int(PLAIT_BAD_ARGUMENT, c_int), "counts are given for one of two arrays: give both or none" // &
                     c_null_char)
    end if
    if (error == PLAIT_SUCCESS) then
      if (present(to_counts) .and. present(from_counts)) then
        error = c_all_to_all_blocks(group%handle, to_first, to_counts * bytes_of(to_bytes, elements(to)), from_first, &
                                    from_counts * bytes_of(from_bytes, elements(from)), place_of(request))
      else
        error = c_all_to_all(group%handle, to_first, from_first, to_bytes / members, place_of(request))
      end if
    end if
    call finish(error, ierr)
  end subroutine

  integer(c_size_t) function elements(array)
    type(*), dimension(..), intent(in) :: array
    elements = size(array, kind=c_size_t)
  end function

  integer(c_size_t) function bytes_of(all_bytes, count)
    integer(c_size_t), intent(in) :: all_bytes, count
    bytes_of = 0
    if (count > 0) bytes_of = all_bytes / count
  end function

  integer(c_int) function check_blocks(members, bytes, count, counts)
    integer(c_size_t), intent(in) :: members, bytes, count
    integer, intent(in), optional :: counts(:)
    logical :: is_good
    if (present(counts)) then
      is_good = size(counts) == members .and. sum(int(counts, c_size_t)) <= count .and. all(counts >= 0)
    else
      is_good = mod(bytes, members) == 0
    end if
    check_blocks = PLAIT_SUCCESS
    if (.not. is_good) then
      check_blocks = c_fail(int(PLAIT_BAD_ARGUMENT, c_int), "an array cannot be divided into a block for each member" &
                            // c_null_char)
    end if
  end function

  !> Of integers and reals of 32 and 64 bits, and of sums of complex numbers of these.
  subroutine plait_reduce(group, root, mine, result, operation, request, ierr)
    type(plait_group), intent(in) :: group
    integer, intent(in) :: root
    type(*), dimension(..), intent(in), asynchronous :: mine
    type(*), dimension(..), intent(inout), asynchronous :: result
    integer, intent(in) :: operation
    type(plait_request), intent(out), optional, target :: request
    integer, intent(out), optional :: ierr
    type(c_ptr) :: first, result_first
    integer(c_size_t) :: bytes, result_bytes
    integer(c_int) :: error, element
    error = fortran_contiguous(mine, first, bytes)
    if (error == PLAIT_SUCCESS) error = fortran_contiguous(result, result_first, result_bytes)
    if (error == PLAIT_SUCCESS) error = fortran_type(mine, element)
    if (error == PLAIT_SUCCESS .and. c_group_self(group%handle) == root .and. result_bytes /= bytes) then
      error = c_fail(int(PLAIT_BAD_ARGUMENT, c_int), "the result of a reduction has another size than its data" // &
                     c_null_char)
    end if
    if (error == PLAIT_SUCCESS) then
      error = c_reduce(group%handle, int(root, c_size_t), first, result_first, elements(mine), element, &
                       int(operation, c_int), place_of(request))
    end if
    call finish(error, ierr)
  end subroutine

  subroutine plait_all_reduce(group, data, operation, request, ierr)
    type(plait_group), intent(in) :: group
    type(*), dimension(..), intent(inout), asynchronous :: data
    integer, intent(in) :: operation
    type(plait_request), intent(out), optional, target :: request
    integer, intent(out), optional :: ierr
    type(c_ptr) :: first
    integer(c_size_t) :: bytes
    integer(c_int) :: error, element
    error = fortran_contiguous(data, first, bytes)
    if (error == PLAIT_SUCCESS) error = fortran_type(data, element)
    if (error == PLAIT_SUCCESS) then
      error = c_all_reduce(group%handle, first, elements(data), element, int(operation, c_int), place_of(request))
    end if
    call finish(error, ierr)
  end subroutine

  ! ---- regions ----

  subroutine plait_region_begin(name)
    character(*), intent(in) :: name
    call c_region_begin(trim(name) // c_null_char)
  end subroutine

  subroutine plait_region_end()
    call c_region_end()
  end subroutine

  ! ---- graphs of tasks ----

  integer function plait_context_worker(context)
    type(plait_context), intent(in) :: context
    plait_context_worker = c_context_worker(context%handle)
  end function

  subroutine plait_graph_create(runtime, graph, ierr)
    type(plait_runtime), intent(in) :: runtime
    type(plait_graph), intent(out) :: graph
    integer, intent(out), optional :: ierr
    call finish(c_graph_create(runtime%handle, graph%handle), ierr)
  end subroutine

  subroutine plait_graph_free(graph, ierr)
    type(plait_graph), intent(inout) :: graph
    integer, intent(out), optional :: ierr
    type(task_box), pointer :: next
    integer(c_int) :: error
    error = c_graph_free(graph%handle)
    do while (associated(graph%boxes))
      next => graph%boxes%next
      deallocate (graph%boxes)
      graph%boxes => next
    end do
    call finish(error, ierr)
  end subroutine

  !> `argument` must be a target, and live as long as the graph.
  subroutine plait_graph_task(graph, kind, procedure, argument, task, ierr)
    type(plait_graph), intent(inout) :: graph
    character(*), intent(in) :: kind
    procedure(plait_procedure) :: procedure
    class(*), intent(in), target :: argument
    type(plait_task), intent(out), optional :: task
    integer, intent(out), optional :: ierr
    type(task_box), pointer :: box
    type(c_ptr) :: handle
    integer(c_int) :: error
    allocate (box)
    box%procedure => procedure
    box%argument => argument
    box%next => graph%boxes
    graph%boxes => box
    error = c_graph_task(graph%handle, trim(kind) // c_null_char, c_funloc(run_task), c_loc(box), handle)
    if (present(task)) task%handle = handle
    call finish(error, ierr)
  end subroutine

  !> Called by C on a worker.
  recursive integer(c_int) function run_task(context, argument) bind(C, name="")
    type(c_ptr), value :: context, argument
    type(task_box), pointer :: box
    type(plait_context) :: wrapped
    integer :: ierr
    call c_f_pointer(argument, box)
    wrapped%handle = context
    ierr = PLAIT_SUCCESS
    call box%procedure(wrapped, box%argument, ierr)
    run_task = int(ierr, c_int)
  end function

  subroutine plait_graph_join(graph, kind, task, ierr)
    type(plait_graph), intent(inout) :: graph
    character(*), intent(in) :: kind
    type(plait_task), intent(out) :: task
    integer, intent(out), optional :: ierr
    call finish(c_graph_join(graph%handle, trim(kind) // c_null_char, task%handle), ierr)
  end subroutine

  subroutine plait_graph_send(graph, kind, data, to, tag, task, ierr)
    type(plait_graph), intent(inout) :: graph
    character(*), intent(in) :: kind
    type(*), dimension(..), intent(in), asynchronous :: data
    integer, intent(in) :: to, tag
    type(plait_task), intent(out), optional :: task
    integer, intent(out), optional :: ierr
    type(plait_layout) :: layout
    type(c_ptr) :: handle
    integer(c_int) :: error
    error = fortran_layout(data, layout)
    if (error == PLAIT_SUCCESS) then
      error = c_graph_send(graph%handle, trim(kind) // c_null_char, layout, int(to, c_int), int(tag, c_int64_t), handle)
      if (present(task)) task%handle = handle
    end if
    call finish(error, ierr)
  end subroutine

  subroutine plait_graph_receive(graph, kind, buffer, from, tag, task, ierr)
    type(plait_graph), intent(inout) :: graph
    character(*), intent(in) :: kind
    type(*), dimension(..), intent(inout), asynchronous :: buffer
    integer, intent(in) :: from, tag
    type(plait_task), intent(out), optional :: task
    integer, intent(out), optional :: ierr
    type(plait_layout) :: layout
    type(c_ptr) :: handle
    integer(c_int) :: error
    error = fortran_layout(buffer, layout)
    if (error == PLAIT_SUCCESS) then
      error = c_graph_receive(graph%handle, trim(kind) // c_null_char, layout, int(from, c_int), &
                              int(tag, c_int64_t), handle)
      if (present(task)) task%handle = handle
    end if
    call finish(error, ierr)
  end subroutine

  subroutine plait_task_after(task, earlier, ierr)
    type(plait_task), intent(in) :: task, earlier
    integer, intent(out), optional :: ierr
    call finish(c_task_after(task%handle, earlier%handle), ierr)
  end subroutine

  subroutine plait_task_cost(task, seconds, ierr)
    type(plait_task), intent(in) :: task
    double precision, intent(in) :: seconds
    integer, intent(out), optional :: ierr
    call finish(c_task_cost(task%handle, seconds), ierr)
  end subroutine

  subroutine plait_task_object(task, number, ierr)
    type(plait_task), intent(in) :: task
    integer, intent(in) :: number
    integer, intent(out), optional :: ierr
    call finish(c_task_object(task%handle, int(number, c_int64_t)), ierr)
  end subroutine

  subroutine plait_task_locks(task, resource, ierr)
    type(plait_task), intent(in) :: task
    type(plait_resource), intent(in) :: resource
    integer, intent(out), optional :: ierr
    call finish(c_task_locks(task%handle, resource%handle), ierr)
  end subroutine

  subroutine plait_task_shares(task, resource, ierr)
    type(plait_task), intent(in) :: task
    type(plait_resource), intent(in) :: resource
    integer, intent(out), optional :: ierr
    call finish(c_task_shares(task%handle, resource%handle), ierr)
  end subroutine

  subroutine plait_resource_create(resource, parent, ierr)
    type(plait_resource), intent(out) :: resource
    type(plait_resource), intent(in), optional :: parent
    integer, intent(out), optional :: ierr
    type(c_ptr) :: above
    above = c_null_ptr
    if (present(parent)) above = parent%handle
    call finish(c_resource_create(above, resource%handle), ierr)
  end subroutine

  subroutine plait_resource_free(resource, ierr)
    type(plait_resource), intent(inout) :: resource
    integer, intent(out), optional :: ierr
    call finish(c_resource_free(resource%handle), ierr)
  end subroutine

  !> Runs all tasks, or the active ones.
  subroutine plait_graph_run(graph, active, ierr)
    type(plait_graph), intent(inout) :: graph
    type(plait_task), intent(in), optional :: active(:)
    integer, intent(out), optional :: ierr
    type(c_ptr), allocatable :: handles(:)
    integer :: i
    if (present(active)) then
      allocate (handles(size(active)))
      do i = 1, size(active)
        handles(i) = active(i)%handle
      end do
      call finish(c_graph_run_active(graph%handle, size(handles, kind=c_size_t), handles), ierr)
    else
      call finish(c_graph_run(graph%handle), ierr)
    end if
  end subroutine

  ! ---- task flow ----

  subroutine plait_flow_create(runtime, flow, ierr)
    type(plait_runtime), intent(in) :: runtime
    type(plait_flow), intent(out) :: flow
    integer, intent(out), optional :: ierr
    call finish(c_flow_create(runtime%handle, flow%handle), ierr)
  end subroutine

  subroutine plait_flow_free(flow, ierr)
    type(plait_flow), intent(inout) :: flow
    integer, intent(out), optional :: ierr
    call finish(c_flow_free(flow%handle), ierr)
  end subroutine

  !> Creates data of the size of `memory`, which on the owner is a contiguous target that has the value, and which other
  !! ranks give for its size only. Without it, the data has `bytes` bytes, which the owner allocates.
  subroutine plait_flow_data(flow, owner, data, memory, bytes, ierr)
    type(plait_flow), intent(in) :: flow
    integer, intent(in) :: owner
    type(plait_data), intent(out) :: data
    type(*), dimension(..), intent(inout), asynchronous, optional :: memory
    integer(c_size_t), intent(in), optional :: bytes
    integer, intent(out), optional :: ierr
    type(c_ptr) :: first
    integer(c_size_t) :: size_bytes
    integer(c_int) :: error
    error = PLAIT_SUCCESS
    first = c_null_ptr
    size_bytes = 0
    if (present(memory)) error = fortran_contiguous(memory, first, size_bytes)
    if (present(bytes)) size_bytes = bytes
    if (error == PLAIT_SUCCESS) error = c_flow_data(flow%handle, int(owner, c_int), size_bytes, first, data%handle)
    call finish(error, ierr)
  end subroutine

  !> Gives the owner's memory; c_f_pointer gives it a type and a shape.
  subroutine plait_data_local(data, memory, ierr)
    type(plait_data), intent(in) :: data
    type(c_ptr), intent(out) :: memory
    integer, intent(out), optional :: ierr
    call finish(c_data_local(data%handle, memory), ierr)
  end subroutine

  type(plait_access) function plait_read(data)
    type(plait_data), intent(in) :: data
    plait_read = plait_access(data%handle, 0)
  end function

  type(plait_access) function plait_write(data)
    type(plait_data), intent(in) :: data
    plait_write = plait_access(data%handle, 1)
  end function

  type(plait_access) function plait_read_write(data)
    type(plait_data), intent(in) :: data
    plait_read_write = plait_access(data%handle, 2)
  end function

  type(plait_access) function plait_commute(data)
    type(plait_data), intent(in) :: data
    plait_commute = plait_access(data%handle, 3)
  end function

  !> Submits a task that calls `procedure` with the memory of `accesses` and a copy of `arguments`, which has at most
  !! PLAIT_ARGUMENTS_MAX integers. It runs on rank `on` or, without it, on the owner of the first data that it writes.
  subroutine plait_flow_submit(flow, kind, procedure, accesses, arguments, priority, on, ierr)
    type(plait_flow), intent(in) :: flow
    character(*), intent(in) :: kind
    procedure(plait_flow_procedure) :: procedure
    type(plait_access), intent(in), contiguous, target :: accesses(:)
    integer, intent(in), optional :: arguments(:), priority, on
    integer, intent(out), optional :: ierr
    type(c_submission) :: submission
    type(flow_box), target :: box
    character(len(kind) + 1), target :: name
    integer :: count
    count = 0
    if (present(arguments)) count = size(arguments)
    if (count > PLAIT_ARGUMENTS_MAX) then
      call finish(c_fail(int(PLAIT_BAD_ARGUMENT, c_int), "a task of a flow has more than PLAIT_ARGUMENTS_MAX " // &
                         "arguments: put them into data" // c_null_char), ierr)
      return
    end if
    box%procedure = c_funloc(procedure)
    box%access_count = size(accesses)
    box%argument_count = count
    box%arguments = 0
    if (present(arguments)) box%arguments(:count) = int(arguments, c_int)
    name = trim(kind) // c_null_char
    submission = c_submission(c_loc(name), c_funloc(run_flow_task), c_loc(box), c_sizeof(box), 0, 0, 0)
    if (present(priority)) submission%priority = int(priority, c_int)
    if (present(on)) then
      submission%runs_elsewhere = 1
      submission%rank = int(on, c_int)
    end if
    call finish(c_flow_submit(flow%handle, submission, size(accesses, kind=c_size_t), c_loc(accesses)), ierr)
  end subroutine

  !> Called by C on a worker.
  recursive integer(c_int) function run_flow_task(memory, argument) bind(C, name="")
    type(c_ptr), value :: memory, argument
    type(flow_box), pointer :: box
    type(plait_memory), pointer :: memories(:)
    procedure(plait_flow_procedure), pointer :: procedure
    integer :: ierr
    call c_f_pointer(argument, box)
    call c_f_pointer(memory, memories, [box%access_count])
    call c_f_procpointer(box%procedure, procedure)
    ierr = PLAIT_SUCCESS
    call procedure(memories, int(box%arguments(:box%argument_count)), ierr)
    run_flow_task = int(ierr, c_int)
  end function

  subroutine plait_flow_flush(flow, data, ierr)
    type(plait_flow), intent(in) :: flow
    type(plait_data), intent(in) :: data
    integer, intent(out), optional :: ierr
    call finish(c_flow_flush(flow%handle, data%handle), ierr)
  end subroutine

  subroutine plait_flow_wait(flow, ierr)
    type(plait_flow), intent(in) :: flow
    integer, intent(out), optional :: ierr
    call finish(c_flow_wait(flow%handle), ierr)
  end subroutine
end module plait
