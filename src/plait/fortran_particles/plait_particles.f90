! SPDX-License-Identifier: Apache-2.0
!> Particle codes in Fortran: what plait_particles.h has for C, under the same names. That header documents each
!! procedure, and docs/how-to/particles.md is a manual; here is what differs.
!!
!! Errors. As in the module plait: an optional last argument `ierr`, without which an error ends the program.
!!
!! Places of particles count from 1, as arrays do. Fields are integers, as plait_store_add_field gives them.
!!
!! plait_store_values associates a pointer with the values of a field, without a copy. The pointer is valid until the next
!! call that adds or removes particles, and until the next update, step or distribution of the store's system.
!!
!! Kernels and procedures of steps are plain Fortran. They run on threads of the library: they must be `recursive`, or
!! compiled so that their local variables are on the stack (gfortran: -frecursive or -fopenmp). Their `ierr` is 0 at the
!! start; another value ends the run on all ranks, as does plait_fail. Compilers vectorise a kernel's inner loop best over
!! dummy arguments: give the block's arrays to a procedure that declares them contiguous, or of explicit shape.
!!
!! One module, as programs expect it: each part has a heading of its own.
module plait_particles
  use, intrinsic :: iso_c_binding
  use plait, only: plait_runtime, PLAIT_SUCCESS, PLAIT_BAD_ARGUMENT
  use plait_c, only: c_fail, fortran_stop
  use plait_particles_c
  implicit none
  private

  public :: plait_store_create, plait_store_free, plait_store_add_field, plait_store_size, plait_store_add
  public :: plait_store_remove, plait_store_values
  public :: plait_system_create, plait_system_free, plait_system_add_long_range, plait_system_add_short_range
  public :: plait_system_add_neighbours, plait_neighbours_get, plait_neighbours_imported_values, plait_system_set_time
  public :: plait_system_before, plait_system_after, plait_system_when_summed, plait_system_add_leapfrog
  public :: plait_system_update, plait_system_step, plait_system_distribute, plait_system_sum, plait_system_domain
  public :: plait_system_take_times
  public :: plait_system_integrate, plait_system_take_steps, plait_system_limit_steps_by, plait_system_add_stage
  public :: plait_system_add_pair_stage, plait_system_run_until, plait_system_synchronise, plait_system_time
  public :: plait_system_is_over, plait_system_last_step

  integer, parameter, public :: PLAIT_POSITION = 0, PLAIT_ID = 1, PLAIT_KIND = 2, PLAIT_COST = 3
  integer, parameter, public :: PLAIT_INT32 = 0, PLAIT_INT64 = 1, PLAIT_FLOAT = 2, PLAIT_DOUBLE = 3
  integer, parameter, public :: PLAIT_CARTESIAN = 0, PLAIT_CYLINDRICAL = 1
  integer, parameter, public :: PLAIT_MONOPOLE = 1, PLAIT_QUADRUPOLE = 2, PLAIT_MIXED = 0, PLAIT_FULL = 1
  integer, parameter, public :: PLAIT_LETS_ALL_TO_ALL = 0, PLAIT_LETS_EXACT = 1, PLAIT_LETS_FAST = 2
  integer, parameter, public :: PLAIT_FIXED_STEPS = 0, PLAIT_EQUAL_STEPS = 1, PLAIT_INDIVIDUAL_STEPS = 2
  integer, parameter, public :: PLAIT_GATHER = 0, PLAIT_SCATTER = 1, PLAIT_SYMMETRIC = 2

  type, public :: plait_store
    private
    type(c_ptr) :: handle = c_null_ptr
  end type

  type, bind(C), public :: plait_step_times
    integer(c_int64_t) :: steps
    real(c_double) :: wall_seconds, idle_seconds, decompose_seconds, exchange_seconds, tree_seconds, let_seconds
    real(c_double) :: walk_seconds, kernel_seconds, short_range_seconds, other_seconds
    integer(c_int64_t) :: interactions, let_bytes
  end type

  type, bind(C), public :: plait_step_result
    real(c_double) :: time, length
    integer(c_int64_t) :: updated, updated_here
  end type

  ! ---- what kernels get ----

  !> Bodies in double precision; the last ones may be padding with charge 0.
  type, public :: plait_bodies
    real(c_double), pointer, contiguous :: x(:), y(:), z(:), charge(:)
  end type

  !> Bodies or tree cells in single precision, relative to a centre near the targets; as above.
  type, public :: plait_cells
    real(c_float), pointer, contiguous :: x(:), y(:), z(:), charge(:)
    real(c_float), pointer, contiguous :: xx(:), xy(:), xz(:), yy(:), yz(:)
  end type

  !> Some targets, and all bodies and cells that act on them. The kernel adds acceleration and potential of target i to
  !! sums(1:3, i) and sums(4, i).
  type, public :: plait_tree_block
    real(c_double), pointer, contiguous :: x(:), y(:), z(:)
    real(c_float), pointer, contiguous :: near_x(:), near_y(:), near_z(:)
    real(c_double), pointer, contiguous :: sums(:, :)
    type(plait_bodies) :: bodies
    type(plait_cells) :: near_bodies, cells
    real(c_double) :: softening2, cutoff2, period(3)
    real(c_double) :: displacement
    !> The program's moments: moments(:, j) is that of cell j. Of size 0 if there are none.
    real(c_double), pointer, contiguous :: moments(:, :)
  end type

  type, public :: plait_block_array
    real(c_float), pointer, contiguous :: p(:)
  end type

  !> Particles in single precision, relative to the centre of the block. values(k)%p is the k-th array of the fields in the
  !! search; a vector has three. `places`, of targets only, are in the store.
  type, public :: plait_block_particles
    real(c_float), pointer, contiguous :: x(:), y(:), z(:)
    type(plait_block_array), allocatable :: values(:)
    integer, allocatable :: places(:)
  end type

  type, public :: plait_pair_block
    type(plait_store) :: store
    real(c_double) :: centre(3)
    type(plait_block_particles) :: targets, sources
  end type

  !> Neighbour lists of a system, which owns them.
  type, public :: plait_neighbours
    private
    type(c_ptr) :: handle = c_null_ptr
    type(c_ptr) :: store = c_null_ptr
  end type

  !> The neighbours of the particle at place i are indices(first(i):first(i + 1) - 1), ascending: places in the store or,
  !! above `count`, `count` plus a place among imported particles, which other ranks own.
  type, public :: plait_neighbour_lists
    integer :: count = 0, imported_count = 0
    integer(c_int64_t), allocatable :: first(:)
    integer, allocatable :: indices(:)
  end type

  abstract interface
    !> Adds the particle at a place to a moment, which is 0 at first. `offset` is from the centre of the cell to it.
    subroutine plait_moment_of_body(moment, store, place, offset, ierr)
      import :: plait_store, c_double
      real(c_double), intent(inout), contiguous :: moment(:)
      type(plait_store), intent(in) :: store
      integer, intent(in) :: place
      real(c_double), intent(in) :: offset(3)
      integer, intent(inout) :: ierr
    end subroutine
    !> Shifts the moment of a child to the centre of the cell, and adds it. `offset` is from this centre to the child's.
    subroutine plait_moment_of_child(moment, child, offset, ierr)
      import :: c_double
      real(c_double), intent(inout), contiguous :: moment(:)
      real(c_double), intent(in), contiguous :: child(:)
      real(c_double), intent(in) :: offset(3)
      integer, intent(inout) :: ierr
    end subroutine
    subroutine plait_tree_kernel(block, ierr)
      import :: plait_tree_block
      type(plait_tree_block), intent(in) :: block
      integer, intent(inout) :: ierr
    end subroutine
    subroutine plait_pair_kernel(block, ierr)
      import :: plait_pair_block
      type(plait_pair_block), intent(in) :: block
      integer, intent(inout) :: ierr
    end subroutine
    !> Processes the particles from `first` to `last`.
    subroutine plait_range_procedure(store, first, last, ierr)
      import :: plait_store
      type(plait_store), intent(in) :: store
      integer, intent(in) :: first, last
      integer, intent(inout) :: ierr
    end subroutine
    subroutine plait_step_procedure(store, ierr)
      import :: plait_store
      type(plait_store), intent(in) :: store
      integer, intent(inout) :: ierr
    end subroutine
    !> Moves the particles from `first` to `last` over a duration.
    subroutine plait_drift_procedure(store, first, last, duration, ierr)
      import :: plait_store, c_double
      type(plait_store), intent(in) :: store
      integer, intent(in) :: first, last
      real(c_double), intent(in) :: duration
      integer, intent(inout) :: ierr
    end subroutine
    !> Changes the velocity of each of some particles over its duration.
    subroutine plait_kick_procedure(store, places, durations, ierr)
      import :: plait_store, c_double
      type(plait_store), intent(in) :: store
      integer, intent(in), contiguous :: places(:)
      real(c_double), intent(in), contiguous :: durations(:)
      integer, intent(inout) :: ierr
    end subroutine
    !> Sets longest(k) to the longest step that the particle places(k) may take, if it is shorter than what it is.
    subroutine plait_step_criterion(store, places, longest, ierr)
      import :: plait_store, c_double
      type(plait_store), intent(in) :: store
      integer, intent(in), contiguous :: places(:)
      real(c_double), intent(inout), contiguous :: longest(:)
      integer, intent(inout) :: ierr
    end subroutine
    !> Changes active particles of one cell.
    subroutine plait_stage_procedure(store, places, ierr)
      import :: plait_store
      type(plait_store), intent(in) :: store
      integer, intent(in), contiguous :: places(:)
      integer, intent(inout) :: ierr
    end subroutine
  end interface
  public :: plait_drift_procedure, plait_kick_procedure, plait_step_criterion, plait_stage_procedure
  public :: plait_tree_kernel, plait_pair_kernel, plait_range_procedure, plait_step_procedure
  public :: plait_moment_of_body, plait_moment_of_child

  !> A procedure for C; owned by its system.
  type :: procedure_box
    procedure(plait_tree_kernel), pointer, nopass :: tree => null()
    procedure(plait_pair_kernel), pointer, nopass :: pairs => null()
    procedure(plait_range_procedure), pointer, nopass :: ranges => null()
    procedure(plait_step_procedure), pointer, nopass :: steps => null()
    procedure(plait_moment_of_body), pointer, nopass :: body => null()
    procedure(plait_moment_of_child), pointer, nopass :: child => null()
    procedure(plait_drift_procedure), pointer, nopass :: drift => null()
    procedure(plait_kick_procedure), pointer, nopass :: kick => null(), settle => null()
    procedure(plait_step_criterion), pointer, nopass :: criterion => null()
    procedure(plait_stage_procedure), pointer, nopass :: stage => null()
    integer :: moment_size = 0  ! In numbers.
    integer :: target_arrays = 0, source_arrays = 0
    type(procedure_box), pointer :: next => null()
  end type

  type, public :: plait_system
    private
    type(c_ptr) :: handle = c_null_ptr
    type(c_ptr) :: store = c_null_ptr
    type(procedure_box), pointer :: boxes => null()
  end type

  !> The values of a field: a rank-1 pointer for one component, a rank-2 pointer (components, particles) for several.
  interface plait_store_values
    module procedure values_double, values_doubles, values_float, values_floats
    module procedure values_int32, values_int32s, values_int64, values_int64s, values_kind
  end interface

  !> The values of a field of imported particles, valid as the lists are: as plait_store_values, for these types.
  interface plait_neighbours_imported_values
    module procedure imported_double, imported_doubles, imported_float, imported_int32, imported_int64
  end interface

  interface plait_system_sum
    module procedure sum_scalar, sum_array
  end interface

  !> What empty pointers are associated with.
  real(c_double), target, save :: nothing(1) = 0

contains

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

  ! ---- stores ----

  subroutine plait_store_create(store, ierr)
    type(plait_store), intent(out) :: store
    integer, intent(out), optional :: ierr
    call finish(c_store_create(store%handle), ierr)
  end subroutine

  subroutine plait_store_free(store, ierr)
    type(plait_store), intent(inout) :: store
    integer, intent(out), optional :: ierr
    call finish(c_store_free(store%handle), ierr)
  end subroutine

  !> Adds a field of `components` numbers, by default 1, of type PLAIT_DOUBLE or another.
  subroutine plait_store_add_field(store, name, field, components, element, ierr)
    type(plait_store), intent(in) :: store
    character(*), intent(in) :: name
    integer, intent(out) :: field
    integer, intent(in), optional :: components, element
    integer, intent(out), optional :: ierr
    integer(c_int) :: of_each, number, error
    integer :: kind_of_element
    of_each = 1
    kind_of_element = PLAIT_DOUBLE
    number = -1
    if (present(components)) of_each = int(components, c_int)
    if (present(element)) kind_of_element = element
    error = c_store_add_field(store%handle, trim(name) // c_null_char, int(kind_of_element, c_int), of_each, number)
    field = number
    call finish(error, ierr)
  end subroutine

  !> The particles of this rank.
  integer function plait_store_size(store)
    type(plait_store), intent(in) :: store
    plait_store_size = int(c_store_size(store%handle))
  end function

  !> Appends `count` particles; `first` is the place of the first one.
  subroutine plait_store_add(store, count, first, ierr)
    type(plait_store), intent(in) :: store
    integer, intent(in) :: count
    integer, intent(out), optional :: first
    integer, intent(out), optional :: ierr
    integer(c_size_t) :: place
    integer(c_int) :: error
    if (count < 0) then
      call finish(c_fail(int(PLAIT_BAD_ARGUMENT, c_int), "a store gets a negative number of particles: give 0 or more" &
                         // c_null_char), ierr)
      return
    end if
    place = 0
    error = c_store_add(store%handle, int(count, c_size_t), place)
    if (present(first)) first = int(place) + 1
    call finish(error, ierr)
  end subroutine

  subroutine plait_store_remove(store, places, ierr)
    type(plait_store), intent(in) :: store
    integer, intent(in) :: places(:)
    integer, intent(out), optional :: ierr
    call finish(c_store_remove(store%handle, size(places, kind=c_size_t), int(places - 1, c_int32_t)), ierr)
  end subroutine

  !> The address of a field's values, and its size. The field must have this type, and one component if `is_scalar`.
  subroutine find_values(store, field, element, is_scalar, address, components, error)
    type(plait_store), intent(in) :: store
    integer, intent(in) :: field, element
    logical, intent(in) :: is_scalar
    type(c_ptr), intent(out) :: address
    integer(c_int), intent(out) :: components, error
    integer(c_int) :: its_element
    address = c_loc(nothing)
    components = 0
    its_element = 0
    error = c_store_describe_field(store%handle, int(field, c_int), its_element, components)
    if (error /= PLAIT_SUCCESS) return
    if (its_element /= element .or. (is_scalar .and. components /= 1)) then
      error = c_fail(int(PLAIT_BAD_ARGUMENT, c_int), "a pointer to values has another type or rank than the field: " // &
                     "declare it as the field, of rank 2 for several components" // c_null_char)
    else if (c_store_size(store%handle) > 0) then
      address = c_store_values(store%handle, int(field, c_int))
    end if
  end subroutine

  subroutine values_double(store, field, values, ierr)
    type(plait_store), intent(in) :: store
    integer, intent(in) :: field
    real(c_double), pointer, intent(out) :: values(:)
    integer, intent(out), optional :: ierr
    type(c_ptr) :: address
    integer(c_int) :: components, error
    nullify (values)
    call find_values(store, field, PLAIT_DOUBLE, .true., address, components, error)
    if (error == PLAIT_SUCCESS) call c_f_pointer(address, values, [c_store_size(store%handle)])
    call finish(error, ierr)
  end subroutine

  subroutine values_doubles(store, field, values, ierr)
    type(plait_store), intent(in) :: store
    integer, intent(in) :: field
    real(c_double), pointer, intent(out) :: values(:, :)
    integer, intent(out), optional :: ierr
    type(c_ptr) :: address
    integer(c_int) :: components, error
    nullify (values)
    call find_values(store, field, PLAIT_DOUBLE, .false., address, components, error)
    if (error == PLAIT_SUCCESS) then
      call c_f_pointer(address, values, [int(components, c_size_t), c_store_size(store%handle)])
    end if
    call finish(error, ierr)
  end subroutine

  subroutine values_float(store, field, values, ierr)
    type(plait_store), intent(in) :: store
    integer, intent(in) :: field
    real(c_float), pointer, intent(out) :: values(:)
    integer, intent(out), optional :: ierr
    type(c_ptr) :: address
    integer(c_int) :: components, error
    nullify (values)
    call find_values(store, field, PLAIT_FLOAT, .true., address, components, error)
    if (error == PLAIT_SUCCESS) call c_f_pointer(address, values, [c_store_size(store%handle)])
    call finish(error, ierr)
  end subroutine

  subroutine values_floats(store, field, values, ierr)
    type(plait_store), intent(in) :: store
    integer, intent(in) :: field
    real(c_float), pointer, intent(out) :: values(:, :)
    integer, intent(out), optional :: ierr
    type(c_ptr) :: address
    integer(c_int) :: components, error
    nullify (values)
    call find_values(store, field, PLAIT_FLOAT, .false., address, components, error)
    if (error == PLAIT_SUCCESS) then
      call c_f_pointer(address, values, [int(components, c_size_t), c_store_size(store%handle)])
    end if
    call finish(error, ierr)
  end subroutine

  subroutine values_int32(store, field, values, ierr)
    type(plait_store), intent(in) :: store
    integer, intent(in) :: field
    integer(c_int32_t), pointer, intent(out) :: values(:)
    integer, intent(out), optional :: ierr
    type(c_ptr) :: address
    integer(c_int) :: components, error
    nullify (values)
    call find_values(store, field, PLAIT_INT32, .true., address, components, error)
    if (error == PLAIT_SUCCESS) call c_f_pointer(address, values, [c_store_size(store%handle)])
    call finish(error, ierr)
  end subroutine

  subroutine values_int32s(store, field, values, ierr)
    type(plait_store), intent(in) :: store
    integer, intent(in) :: field
    integer(c_int32_t), pointer, intent(out) :: values(:, :)
    integer, intent(out), optional :: ierr
    type(c_ptr) :: address
    integer(c_int) :: components, error
    nullify (values)
    call find_values(store, field, PLAIT_INT32, .false., address, components, error)
    if (error == PLAIT_SUCCESS) then
      call c_f_pointer(address, values, [int(components, c_size_t), c_store_size(store%handle)])
    end if
    call finish(error, ierr)
  end subroutine

  subroutine values_int64(store, field, values, ierr)
    type(plait_store), intent(in) :: store
    integer, intent(in) :: field
    integer(c_int64_t), pointer, intent(out) :: values(:)
    integer, intent(out), optional :: ierr
    type(c_ptr) :: address
    integer(c_int) :: components, error
    nullify (values)
    call find_values(store, field, PLAIT_INT64, .true., address, components, error)
    if (error == PLAIT_SUCCESS) call c_f_pointer(address, values, [c_store_size(store%handle)])
    call finish(error, ierr)
  end subroutine

  subroutine values_int64s(store, field, values, ierr)
    type(plait_store), intent(in) :: store
    integer, intent(in) :: field
    integer(c_int64_t), pointer, intent(out) :: values(:, :)
    integer, intent(out), optional :: ierr
    type(c_ptr) :: address
    integer(c_int) :: components, error
    nullify (values)
    call find_values(store, field, PLAIT_INT64, .false., address, components, error)
    if (error == PLAIT_SUCCESS) then
      call c_f_pointer(address, values, [int(components, c_size_t), c_store_size(store%handle)])
    end if
    call finish(error, ierr)
  end subroutine

  !> Of PLAIT_KIND.
  subroutine values_kind(store, field, values, ierr)
    type(plait_store), intent(in) :: store
    integer, intent(in) :: field
    integer(c_int8_t), pointer, intent(out) :: values(:)
    integer, intent(out), optional :: ierr
    type(c_ptr) :: address
    integer(c_int) :: components, error
    nullify (values)
    call find_values(store, field, -1, .true., address, components, error)
    if (error == PLAIT_SUCCESS) call c_f_pointer(address, values, [c_store_size(store%handle)])
    call finish(error, ierr)
  end subroutine

  ! ---- systems ----

  !> Settings that are left out have the defaults of plait_system_options.
  subroutine plait_system_create(runtime, store, system, low, high, periodic, coordinates, grid, &
                                 steps_between_decompositions, steps_between_trees, ierr, shear_rate, shear_velocity, cell_reach, &
                                 limited_kinds)
    type(plait_runtime), intent(in) :: runtime
    type(plait_store), intent(in) :: store
    type(plait_system), intent(out) :: system
    double precision, intent(in), optional :: low(3), high(3)
    logical, intent(in), optional :: periodic(3)
    integer, intent(in), optional :: coordinates, grid(3), steps_between_decompositions, steps_between_trees
    double precision, intent(in), optional :: shear_rate
    integer, intent(in), optional :: shear_velocity, cell_reach
    integer(c_int64_t), intent(in), optional :: limited_kinds
    integer, intent(out), optional :: ierr
    type(c_system_options) :: options
    integer(c_int) :: error
    error = c_system_options_init(options, c_sizeof(options))
    if (present(low)) options%low = low
    if (present(high)) options%high = high
    if (present(periodic)) options%periodic = merge(1_c_int, 0_c_int, periodic)
    if (present(coordinates)) options%coordinates = int(coordinates, c_int)
    if (present(grid)) options%grid = int(grid, c_int)
    if (present(steps_between_decompositions)) then
      options%steps_between_decompositions = int(steps_between_decompositions, c_int)
    end if
    if (present(steps_between_trees)) options%steps_between_trees = int(steps_between_trees, c_int)
    if (present(shear_rate)) options%shear_rate = shear_rate
    if (present(shear_velocity)) options%shear_velocity = int(shear_velocity, c_int)
    if (present(cell_reach)) options%cell_reach = int(cell_reach, c_int)
    if (present(limited_kinds)) options%limited_kinds = limited_kinds
    if (error == PLAIT_SUCCESS) then
      error = c_system_create(transfer(runtime, c_null_ptr), store%handle, options, system%handle)
    end if
    system%store = store%handle
    call finish(error, ierr)
  end subroutine

  subroutine plait_system_free(system, ierr)
    type(plait_system), intent(inout) :: system
    integer, intent(out), optional :: ierr
    type(procedure_box), pointer :: next
    integer(c_int) :: error
    error = c_system_free(system%handle)
    do while (associated(system%boxes))
      next => system%boxes%next
      deallocate (system%boxes)
      system%boxes => next
    end do
    call finish(error, ierr)
  end subroutine

  function new_box(system) result(box)
    type(plait_system), intent(inout) :: system
    type(procedure_box), pointer :: box
    allocate (box)
    box%next => system%boxes
    system%boxes => box
  end function

  ! ---- long-range interactions ----

  !> Without `kernel`: gravity. `add_body` and `add_child` sum the program's own moments of cells, each of `moment_size`
  !! numbers of double precision, which the kernel reads.
  subroutine plait_system_add_long_range(system, charge, acceleration, potential, kernel, theta, softening, coupling, &
                                         cutoff, order, precision, lets, source_kinds, target_kinds, &
                                         measures_sizes, reuses_lists, ierr, has_both_signs, moment_size, add_body, &
                                         add_child, velocity)
    type(plait_system), intent(inout) :: system
    integer, intent(in) :: charge, acceleration, potential
    procedure(plait_tree_kernel), optional :: kernel
    double precision, intent(in), optional :: theta, softening, coupling, cutoff
    integer, intent(in), optional :: order, precision, lets
    integer(c_int64_t), intent(in), optional :: source_kinds, target_kinds
    logical, intent(in), optional :: measures_sizes, reuses_lists, has_both_signs
    integer, intent(in), optional :: moment_size, velocity
    procedure(plait_moment_of_body), optional :: add_body
    procedure(plait_moment_of_child), optional :: add_child
    integer, intent(out), optional :: ierr
    type(c_long_range_options) :: options
    type(procedure_box), pointer :: box
    integer(c_int) :: error
    error = c_long_range_options_init(options, c_sizeof(options))
    options%charge = int(charge, c_int)
    options%acceleration = int(acceleration, c_int)
    options%potential = int(potential, c_int)
    nullify (box)
    if (present(kernel)) then
      box => new_box(system)
      box%tree => kernel
      options%kernel = c_funloc(call_tree_kernel)
      options%argument = c_loc(box)
    end if
    if (present(theta)) options%theta = theta
    if (present(softening)) options%softening = softening
    if (present(coupling)) options%coupling = coupling
    if (present(cutoff)) options%cutoff = cutoff
    if (present(order)) options%order = int(order, c_int)
    if (present(precision)) options%precision = int(precision, c_int)
    if (present(lets)) options%lets = int(lets, c_int)
    if (present(source_kinds)) options%source_kinds = source_kinds
    if (present(target_kinds)) options%target_kinds = target_kinds
    if (present(measures_sizes)) options%measures_sizes = merge(1_c_int, 0_c_int, measures_sizes)
    if (present(reuses_lists)) options%reuses_lists = merge(1_c_int, 0_c_int, reuses_lists)
    if (present(has_both_signs)) options%has_both_signs = merge(1_c_int, 0_c_int, has_both_signs)
    if (present(velocity)) options%velocity = int(velocity, c_int)
    if (present(moment_size)) then
      options%moment_bytes = 8_c_size_t * moment_size
      if (associated(box) .and. present(add_body) .and. present(add_child)) then  ! else the call is refused
        box%moment_size = moment_size
        box%body => add_body
        box%child => add_child
        options%add_body = c_funloc(call_moment_of_body)
        options%add_child = c_funloc(call_moment_of_child)
        options%moment_argument = c_loc(box)
      end if
    end if
    if (error == PLAIT_SUCCESS) error = c_system_add_long_range(system%handle, options)
    call finish(error, ierr)
  end subroutine

  !> Called by C on a worker, by its address: it has no name there.
  recursive integer(c_int) function call_tree_kernel(given, argument) bind(C, name="")
    type(c_tree_block), intent(in) :: given
    type(c_ptr), value :: argument
    type(procedure_box), pointer :: box
    type(plait_tree_block) :: block
    type(c_ptr) :: address
    integer :: ierr
    call c_f_pointer(argument, box)
    call view_doubles(given%x, given%count, block%x)
    call view_doubles(given%y, given%count, block%y)
    call view_doubles(given%z, given%count, block%z)
    call view_floats(given%near_x, given%count, block%near_x)
    call view_floats(given%near_y, given%count, block%near_y)
    call view_floats(given%near_z, given%count, block%near_z)
    call c_f_pointer(given%sums, block%sums, [4_c_size_t, given%count])
    call view_doubles(given%bodies%x, given%bodies%count, block%bodies%x)
    call view_doubles(given%bodies%y, given%bodies%count, block%bodies%y)
    call view_doubles(given%bodies%z, given%bodies%count, block%bodies%z)
    call view_doubles(given%bodies%charge, given%bodies%count, block%bodies%charge)
    call view_cells(given%near_bodies, block%near_bodies)
    call view_cells(given%cells, block%cells)
    block%softening2 = given%softening2
    block%cutoff2 = given%cutoff2
    block%period = given%period
    block%displacement = given%displacement
    address = given%moments
    if (given%moment_count == 0) address = c_loc(nothing)
    call c_f_pointer(address, block%moments, [int(box%moment_size, c_size_t), given%moment_count])
    ierr = PLAIT_SUCCESS
    call box%tree(block, ierr)
    call_tree_kernel = int(ierr, c_int)
  end function

  !> As above.
  recursive integer(c_int) function call_moment_of_body(moment, store, place, offset, argument) bind(C, name="")
    type(c_ptr), value :: moment, store, argument
    integer(c_size_t), value :: place
    real(c_double), intent(in) :: offset(3)
    type(procedure_box), pointer :: box
    type(plait_store) :: wrapped
    real(c_double), pointer, contiguous :: numbers(:)
    integer :: ierr
    call c_f_pointer(argument, box)
    call c_f_pointer(moment, numbers, [box%moment_size])
    wrapped%handle = store
    ierr = PLAIT_SUCCESS
    call box%body(numbers, wrapped, int(place) + 1, offset, ierr)
    call_moment_of_body = int(ierr, c_int)
  end function

  !> As above.
  recursive integer(c_int) function call_moment_of_child(moment, child, offset, argument) bind(C, name="")
    type(c_ptr), value :: moment, child, argument
    real(c_double), intent(in) :: offset(3)
    type(procedure_box), pointer :: box
    real(c_double), pointer, contiguous :: numbers(:), numbers_of_child(:)
    integer :: ierr
    call c_f_pointer(argument, box)
    call c_f_pointer(moment, numbers, [box%moment_size])
    call c_f_pointer(child, numbers_of_child, [box%moment_size])
    ierr = PLAIT_SUCCESS
    call box%child(numbers, numbers_of_child, offset, ierr)
    call_moment_of_child = int(ierr, c_int)
  end function

  recursive subroutine view_cells(given, cells)
    type(c_cells), intent(in) :: given
    type(plait_cells), intent(out) :: cells
    call view_floats(given%x, given%count, cells%x)
    call view_floats(given%y, given%count, cells%y)
    call view_floats(given%z, given%count, cells%z)
    call view_floats(given%charge, given%count, cells%charge)
    call view_floats(given%xx, given%count, cells%xx)
    call view_floats(given%xy, given%count, cells%xy)
    call view_floats(given%xz, given%count, cells%xz)
    call view_floats(given%yy, given%count, cells%yy)
    call view_floats(given%yz, given%count, cells%yz)
  end subroutine

  recursive subroutine view_doubles(first, count, array)
    type(c_ptr), intent(in) :: first
    integer(c_size_t), intent(in) :: count
    real(c_double), pointer, contiguous, intent(out) :: array(:)
    type(c_ptr) :: address
    address = first
    if (count == 0) address = c_loc(nothing)
    call c_f_pointer(address, array, [count])
  end subroutine

  recursive subroutine view_floats(first, count, array)
    type(c_ptr), intent(in) :: first
    integer(c_size_t), intent(in) :: count
    real(c_float), pointer, contiguous, intent(out) :: array(:)
    type(c_ptr) :: address
    address = first
    if (count == 0) address = c_loc(nothing)
    call c_f_pointer(address, array, [count])
  end subroutine

  ! ---- short-range interactions ----

  !> `targets` and `sources` are the fields that the kernel reads, `results` those to which it adds.
  subroutine plait_system_add_short_range(system, reach, results, kernel, targets, sources, search, reach_factor, &
                                          source_kinds, target_kinds, ierr)
    type(plait_system), intent(inout) :: system
    integer, intent(in) :: reach, results(:)
    procedure(plait_pair_kernel) :: kernel
    integer, intent(in), optional :: targets(:), sources(:), search
    double precision, intent(in), optional :: reach_factor
    integer(c_int64_t), intent(in), optional :: source_kinds, target_kinds
    integer, intent(out), optional :: ierr
    call add_pairs(system, reach, results, kernel, targets, sources, search, reach_factor, source_kinds, &
                   target_kinds, ierr)
  end subroutine

  !> The same as a stage, whose results later stages read.
  subroutine plait_system_add_pair_stage(system, name, reach, results, kernel, targets, sources, search, reach_factor, &
                                         source_kinds, target_kinds, ierr)
    type(plait_system), intent(inout) :: system
    character(*), intent(in) :: name
    integer, intent(in) :: reach, results(:)
    procedure(plait_pair_kernel) :: kernel
    integer, intent(in), optional :: targets(:), sources(:), search
    double precision, intent(in), optional :: reach_factor
    integer(c_int64_t), intent(in), optional :: source_kinds, target_kinds
    integer, intent(out), optional :: ierr
    call add_pairs(system, reach, results, kernel, targets, sources, search, reach_factor, source_kinds, &
                   target_kinds, ierr, trim(name))
  end subroutine

  !> A stage if `name` is present.
  subroutine add_pairs(system, reach, results, kernel, targets, sources, search, reach_factor, source_kinds, &
                       target_kinds, ierr, name)
    type(plait_system), intent(inout) :: system
    character(*), intent(in), optional :: name
    integer, intent(in) :: reach, results(:)
    procedure(plait_pair_kernel) :: kernel
    integer, intent(in), optional :: targets(:), sources(:), search
    double precision, intent(in), optional :: reach_factor
    integer(c_int64_t), intent(in), optional :: source_kinds, target_kinds
    integer, intent(out), optional :: ierr
    type(c_short_range_options) :: options
    type(procedure_box), pointer :: box
    integer(c_int), allocatable, target :: target_fields(:), source_fields(:), result_fields(:)
    integer(c_int) :: error
    error = c_short_range_options_init(options, c_sizeof(options))
    allocate (target_fields(0), source_fields(0))
    if (present(targets)) target_fields = int(targets, c_int)
    if (present(sources)) source_fields = int(sources, c_int)
    result_fields = int(results, c_int)
    box => new_box(system)
    box%pairs => kernel
    box%target_arrays = arrays_of(system%store, target_fields)
    box%source_arrays = arrays_of(system%store, source_fields)
    options%reach = int(reach, c_int)
    if (present(search)) options%search = int(search, c_int)
    if (present(reach_factor)) options%reach_factor = reach_factor
    if (present(source_kinds)) options%source_kinds = source_kinds
    if (present(target_kinds)) options%target_kinds = target_kinds
    options%target_count = size(target_fields, kind=c_size_t)
    options%source_count = size(source_fields, kind=c_size_t)
    options%result_count = size(result_fields, kind=c_size_t)
    if (options%target_count > 0) options%targets = c_loc(target_fields)
    if (options%source_count > 0) options%sources = c_loc(source_fields)
    if (options%result_count > 0) options%results = c_loc(result_fields)
    options%kernel = c_funloc(call_pair_kernel)
    options%argument = c_loc(box)
    if (error == PLAIT_SUCCESS .and. present(name)) then
      error = c_system_add_pair_stage(system%handle, name // c_null_char, options)
    else if (error == PLAIT_SUCCESS) then
      error = c_system_add_short_range(system%handle, options)
    end if
    call finish(error, ierr)
  end subroutine

  !> The arrays that blocks have for these fields.
  integer function arrays_of(store, fields)
    type(c_ptr), intent(in) :: store
    integer(c_int), intent(in) :: fields(:)
    integer(c_int) :: element, components
    integer :: i
    arrays_of = 0
    do i = 1, size(fields)
      components = 0
      element = 0
      if (c_store_describe_field(store, fields(i), element, components) == PLAIT_SUCCESS) then
        arrays_of = arrays_of + components
      end if
    end do
  end function

  !> Called by C on a worker, by its address: it has no name there.
  recursive integer(c_int) function call_pair_kernel(given, argument) bind(C, name="")
    type(c_pair_block), intent(in) :: given
    type(c_ptr), value :: argument
    type(procedure_box), pointer :: box
    type(plait_pair_block) :: block
    integer(c_int32_t), pointer :: places(:)
    integer :: ierr
    call c_f_pointer(argument, box)
    block%store%handle = given%store
    block%centre = given%centre
    call view_side(given%targets, box%target_arrays, block%targets)
    call view_side(given%sources, box%source_arrays, block%sources)
    call c_f_pointer(given%targets%places, places, [given%targets%count])
    block%targets%places = places + 1
    ierr = PLAIT_SUCCESS
    call box%pairs(block, ierr)
    call_pair_kernel = int(ierr, c_int)
  end function

  recursive subroutine view_side(given, arrays, side)
    type(c_block_particles), intent(in) :: given
    integer, intent(in) :: arrays
    type(plait_block_particles), intent(out) :: side
    type(c_ptr), pointer :: values(:)
    integer :: i
    call view_floats(given%x, given%count, side%x)
    call view_floats(given%y, given%count, side%y)
    call view_floats(given%z, given%count, side%z)
    allocate (side%values(arrays))
    call c_f_pointer(given%values, values, [arrays])
    do i = 1, arrays
      call view_floats(values(i), given%count, side%values(i)%p)
    end do
  end subroutine

  ! ---- neighbours ----

  !> Neighbours are within `radius`, or within each particle's, which is in `radius_field`.
  subroutine plait_system_add_neighbours(system, neighbours, radius, radius_field, search, travels, source_kinds, &
                                         target_kinds, ierr)
    type(plait_system), intent(in) :: system
    type(plait_neighbours), intent(out) :: neighbours
    double precision, intent(in), optional :: radius
    integer, intent(in), optional :: radius_field, search, travels(:)
    integer(c_int64_t), intent(in), optional :: source_kinds, target_kinds
    integer, intent(out), optional :: ierr
    type(c_neighbour_options) :: options
    integer(c_int), allocatable, target :: fields(:)
    integer(c_int) :: error
    error = c_neighbour_options_init(options, c_sizeof(options))
    if (present(radius)) options%radius = radius
    if (present(radius_field)) options%radius_field = int(radius_field, c_int)
    if (present(search)) options%search = int(search, c_int)
    if (present(source_kinds)) options%source_kinds = source_kinds
    if (present(target_kinds)) options%target_kinds = target_kinds
    allocate (fields(0))
    if (present(travels)) fields = int(travels, c_int)
    options%travel_count = size(fields, kind=c_size_t)
    if (options%travel_count > 0) options%travels = c_loc(fields)
    if (error == PLAIT_SUCCESS) error = c_system_add_neighbours(system%handle, options, neighbours%handle)
    neighbours%store = system%store
    call finish(error, ierr)
  end subroutine

  !> Copies the lists of the last step, as they count from 1. Cost: O(neighbours).
  subroutine plait_neighbours_get(neighbours, lists, ierr)
    type(plait_neighbours), intent(in) :: neighbours
    type(plait_neighbour_lists), intent(inout) :: lists
    integer, intent(out), optional :: ierr
    type(c_neighbour_lists) :: given
    integer(c_size_t), pointer, contiguous :: offsets(:)
    integer(c_int32_t), pointer, contiguous :: indices(:)
    integer(c_int) :: error
    given = c_neighbour_lists(0, c_null_ptr, c_null_ptr, 0)
    error = c_neighbours_get(neighbours%handle, given)
    if (error == PLAIT_SUCCESS) then
      lists%count = int(given%count)
      lists%imported_count = int(given%imported_count)
      call c_f_pointer(given%offsets, offsets, [given%count + 1])
      lists%first = offsets + 1
      if (offsets(given%count + 1) == 0) then
        lists%indices = [integer ::]
      else
        call c_f_pointer(given%indices, indices, [offsets(given%count + 1)])
        lists%indices = indices + 1
      end if
    end if
    call finish(error, ierr)
  end subroutine

  !> As find_values, for the imported particles of the last step; also their number.
  subroutine find_imported(neighbours, field, element, is_scalar, address, extents, error)
    type(plait_neighbours), intent(in) :: neighbours
    integer, intent(in) :: field, element
    logical, intent(in) :: is_scalar
    type(c_ptr), intent(out) :: address
    integer(c_size_t), intent(out) :: extents(2)
    integer(c_int), intent(out) :: error
    type(c_neighbour_lists) :: lists
    type(plait_store) :: store
    integer(c_int) :: components
    store%handle = neighbours%store
    lists = c_neighbour_lists(0, c_null_ptr, c_null_ptr, 0)
    extents = 0
    call find_values(store, field, element, is_scalar, address, components, error)
    if (error == PLAIT_SUCCESS) error = c_neighbours_get(neighbours%handle, lists)
    if (error /= PLAIT_SUCCESS) return
    extents = [int(components, c_size_t), lists%imported_count]
    address = c_loc(nothing)
    if (lists%imported_count == 0) return
    address = c_neighbours_imported_values(neighbours%handle, int(field, c_int))
    if (.not. c_associated(address)) error = int(PLAIT_BAD_ARGUMENT, c_int)
  end subroutine

  subroutine imported_double(neighbours, field, values, ierr)
    type(plait_neighbours), intent(in) :: neighbours
    integer, intent(in) :: field
    real(c_double), pointer, intent(out) :: values(:)
    integer, intent(out), optional :: ierr
    type(c_ptr) :: address
    integer(c_size_t) :: extents(2)
    integer(c_int) :: error
    nullify (values)
    call find_imported(neighbours, field, PLAIT_DOUBLE, .true., address, extents, error)
    if (error == PLAIT_SUCCESS) call c_f_pointer(address, values, extents(2:))
    call finish(error, ierr)
  end subroutine

  subroutine imported_doubles(neighbours, field, values, ierr)
    type(plait_neighbours), intent(in) :: neighbours
    integer, intent(in) :: field
    real(c_double), pointer, intent(out) :: values(:, :)
    integer, intent(out), optional :: ierr
    type(c_ptr) :: address
    integer(c_size_t) :: extents(2)
    integer(c_int) :: error
    nullify (values)
    call find_imported(neighbours, field, PLAIT_DOUBLE, .false., address, extents, error)
    if (error == PLAIT_SUCCESS) call c_f_pointer(address, values, extents)
    call finish(error, ierr)
  end subroutine

  subroutine imported_float(neighbours, field, values, ierr)
    type(plait_neighbours), intent(in) :: neighbours
    integer, intent(in) :: field
    real(c_float), pointer, intent(out) :: values(:)
    integer, intent(out), optional :: ierr
    type(c_ptr) :: address
    integer(c_size_t) :: extents(2)
    integer(c_int) :: error
    nullify (values)
    call find_imported(neighbours, field, PLAIT_FLOAT, .true., address, extents, error)
    if (error == PLAIT_SUCCESS) call c_f_pointer(address, values, extents(2:))
    call finish(error, ierr)
  end subroutine

  subroutine imported_int32(neighbours, field, values, ierr)
    type(plait_neighbours), intent(in) :: neighbours
    integer, intent(in) :: field
    integer(c_int32_t), pointer, intent(out) :: values(:)
    integer, intent(out), optional :: ierr
    type(c_ptr) :: address
    integer(c_size_t) :: extents(2)
    integer(c_int) :: error
    nullify (values)
    call find_imported(neighbours, field, PLAIT_INT32, .true., address, extents, error)
    if (error == PLAIT_SUCCESS) call c_f_pointer(address, values, extents(2:))
    call finish(error, ierr)
  end subroutine

  subroutine imported_int64(neighbours, field, values, ierr)
    type(plait_neighbours), intent(in) :: neighbours
    integer, intent(in) :: field
    integer(c_int64_t), pointer, intent(out) :: values(:)
    integer, intent(out), optional :: ierr
    type(c_ptr) :: address
    integer(c_size_t) :: extents(2)
    integer(c_int) :: error
    nullify (values)
    call find_imported(neighbours, field, PLAIT_INT64, .true., address, extents, error)
    if (error == PLAIT_SUCCESS) call c_f_pointer(address, values, extents(2:))
    call finish(error, ierr)
  end subroutine

  ! ---- steps ----

  subroutine plait_system_before(system, kind, procedure, ierr)
    type(plait_system), intent(inout) :: system
    character(*), intent(in) :: kind
    procedure(plait_range_procedure) :: procedure
    integer, intent(out), optional :: ierr
    type(procedure_box), pointer :: box
    box => new_box(system)
    box%ranges => procedure
    call finish(c_system_before(system%handle, trim(kind) // c_null_char, c_funloc(call_range), c_loc(box)), ierr)
  end subroutine

  subroutine plait_system_after(system, kind, procedure, ierr)
    type(plait_system), intent(inout) :: system
    character(*), intent(in) :: kind
    procedure(plait_range_procedure) :: procedure
    integer, intent(out), optional :: ierr
    type(procedure_box), pointer :: box
    box => new_box(system)
    box%ranges => procedure
    call finish(c_system_after(system%handle, trim(kind) // c_null_char, c_funloc(call_range), c_loc(box)), ierr)
  end subroutine

  !> Called by C on a worker, by its address: it has no name there.
  recursive integer(c_int) function call_range(store, first, last, argument) bind(C, name="")
    type(c_ptr), value :: store, argument
    integer(c_size_t), value :: first, last
    type(procedure_box), pointer :: box
    type(plait_store) :: wrapped
    integer :: ierr
    call c_f_pointer(argument, box)
    wrapped%handle = store
    ierr = PLAIT_SUCCESS
    call box%ranges(wrapped, int(first) + 1, int(last), ierr)
    call_range = int(ierr, c_int)
  end function

  subroutine plait_system_when_summed(system, procedure, ierr)
    type(plait_system), intent(inout) :: system
    procedure(plait_step_procedure) :: procedure
    integer, intent(out), optional :: ierr
    type(procedure_box), pointer :: box
    box => new_box(system)
    box%steps => procedure
    call finish(c_system_when_summed(system%handle, c_funloc(call_step), c_loc(box)), ierr)
  end subroutine

  !> Called by C on a worker, by its address: it has no name there.
  recursive integer(c_int) function call_step(store, argument) bind(C, name="")
    type(c_ptr), value :: store, argument
    type(procedure_box), pointer :: box
    type(plait_store) :: wrapped
    integer :: ierr
    call c_f_pointer(argument, box)
    wrapped%handle = store
    ierr = PLAIT_SUCCESS
    call box%steps(wrapped, ierr)
    call_step = int(ierr, c_int)
  end function

  subroutine plait_system_add_leapfrog(system, velocity, acceleration, time_step, ierr)
    type(plait_system), intent(in) :: system
    integer, intent(in) :: velocity, acceleration
    double precision, intent(in) :: time_step
    integer, intent(out), optional :: ierr
    call finish(c_system_add_leapfrog(system%handle, int(velocity, c_int), int(acceleration, c_int), time_step), ierr)
  end subroutine

  ! ---- steps of other lengths ----

  !> A leapfrog, or the procedures `drift` and `kick`, with `settle` if it is given.
  subroutine plait_system_integrate(system, velocity, acceleration, velocity_now, drift, kick, settle, predicted, &
                                    forces, ierr)
    type(plait_system), intent(inout) :: system
    integer, intent(in) :: velocity
    integer, intent(in), optional :: acceleration, velocity_now, predicted(:), forces(:)
    procedure(plait_drift_procedure), optional :: drift
    procedure(plait_kick_procedure), optional :: kick, settle
    integer, intent(out), optional :: ierr
    type(c_integrator) :: integrator
    type(procedure_box), pointer :: box
    integer(c_int), allocatable, target :: predicted_fields(:), force_fields(:)
    integer(c_int) :: error
    error = c_integrator_init(integrator, c_sizeof(integrator))
    integrator%velocity = int(velocity, c_int)
    if (present(acceleration)) integrator%acceleration = int(acceleration, c_int)
    if (present(velocity_now)) integrator%velocity_now = int(velocity_now, c_int)
    allocate (predicted_fields(0), force_fields(0))
    if (present(predicted)) predicted_fields = int(predicted, c_int)
    if (present(forces)) force_fields = int(forces, c_int)
    integrator%predicted_count = size(predicted_fields, kind=c_size_t)
    integrator%force_count = size(force_fields, kind=c_size_t)
    if (integrator%predicted_count > 0) integrator%predicted = c_loc(predicted_fields)
    if (integrator%force_count > 0) integrator%forces = c_loc(force_fields)
    box => new_box(system)
    integrator%argument = c_loc(box)
    if (present(drift)) then
      box%drift => drift
      integrator%drift = c_funloc(call_drift)
    end if
    if (present(kick)) then
      box%kick => kick
      integrator%kick = c_funloc(call_kick)
    end if
    if (present(settle)) then
      box%settle => settle
      integrator%settle = c_funloc(call_settle)
    end if
    if (error == PLAIT_SUCCESS) error = c_system_integrate(system%handle, integrator)
    call finish(error, ierr)
  end subroutine

  !> Called by C on a worker, by its address: it has no name there.
  recursive integer(c_int) function call_drift(store, first, last, duration, argument) bind(C, name="")
    type(c_ptr), value :: store, argument
    integer(c_size_t), value :: first, last
    real(c_double), value :: duration
    type(procedure_box), pointer :: box
    integer :: ierr
    call c_f_pointer(argument, box)
    ierr = PLAIT_SUCCESS
    call box%drift(plait_store(store), int(first) + 1, int(last), duration, ierr)
    call_drift = int(ierr, c_int)
  end function

  !> As above, as the next.
  recursive integer(c_int) function call_kick(store, count, kicks, argument) bind(C, name="")
    type(c_ptr), value :: store, argument
    integer(c_size_t), value :: count
    type(c_kick), intent(in) :: kicks(count)
    type(procedure_box), pointer :: box
    integer :: ierr
    call c_f_pointer(argument, box)
    ierr = PLAIT_SUCCESS
    call box%kick(plait_store(store), int(kicks%place) + 1, kicks%duration, ierr)
    call_kick = int(ierr, c_int)
  end function

  recursive integer(c_int) function call_settle(store, count, kicks, argument) bind(C, name="")
    type(c_ptr), value :: store, argument
    integer(c_size_t), value :: count
    type(c_kick), intent(in) :: kicks(count)
    type(procedure_box), pointer :: box
    integer :: ierr
    call c_f_pointer(argument, box)
    ierr = PLAIT_SUCCESS
    call box%settle(plait_store(store), int(kicks%place) + 1, kicks%duration, ierr)
    call_settle = int(ierr, c_int)
  end function

  !> Settings that are left out have the defaults of plait_time_steps.
  subroutine plait_system_take_steps(system, lengths, step, begin, end, step_max, step_min, ierr)
    type(plait_system), intent(in) :: system
    integer, intent(in), optional :: lengths
    double precision, intent(in), optional :: step, begin, end, step_max, step_min
    integer, intent(out), optional :: ierr
    type(c_time_steps) :: steps
    integer(c_int) :: error
    error = c_time_steps_init(steps, c_sizeof(steps))
    if (present(lengths)) steps%lengths = int(lengths, c_int)
    if (present(step)) steps%step = step
    if (present(begin)) steps%begin = begin
    if (present(end)) steps%end = end
    if (present(step_max)) steps%step_max = step_max
    if (present(step_min)) steps%step_min = step_min
    if (error == PLAIT_SUCCESS) error = c_system_take_steps(system%handle, steps)
    call finish(error, ierr)
  end subroutine

  subroutine plait_system_limit_steps_by(system, criterion, ierr)
    type(plait_system), intent(inout) :: system
    procedure(plait_step_criterion) :: criterion
    integer, intent(out), optional :: ierr
    type(procedure_box), pointer :: box
    box => new_box(system)
    box%criterion => criterion
    call finish(c_system_limit_steps_by(system%handle, c_funloc(call_criterion), c_loc(box)), ierr)
  end subroutine

  !> Called by C on a worker, by its address: it has no name there.
  recursive integer(c_int) function call_criterion(store, count, places, longest, argument) bind(C, name="")
    type(c_ptr), value :: store, argument
    integer(c_size_t), value :: count
    integer(c_int32_t), intent(in) :: places(count)
    real(c_double), intent(inout) :: longest(count)
    type(procedure_box), pointer :: box
    integer :: ierr
    call c_f_pointer(argument, box)
    ierr = PLAIT_SUCCESS
    call box%criterion(plait_store(store), int(places) + 1, longest, ierr)
    call_criterion = int(ierr, c_int)
  end function

  !> `writes` are the fields that the procedure changes.
  subroutine plait_system_add_stage(system, name, procedure, writes, kinds, ierr)
    type(plait_system), intent(inout) :: system
    character(*), intent(in) :: name
    procedure(plait_stage_procedure) :: procedure
    integer, intent(in), optional :: writes(:)
    integer(c_int64_t), intent(in), optional :: kinds
    integer, intent(out), optional :: ierr
    type(c_stage_options) :: options
    type(procedure_box), pointer :: box
    integer(c_int), allocatable, target :: fields(:)
    character(kind=c_char, len=:), allocatable, target :: its_name
    integer(c_int) :: error
    error = c_stage_options_init(options, c_sizeof(options))
    its_name = trim(name) // c_null_char
    allocate (fields(0))
    if (present(writes)) fields = int(writes, c_int)
    box => new_box(system)
    box%stage => procedure
    options%name = c_loc(its_name)
    if (present(kinds)) options%kinds = kinds
    options%write_count = size(fields, kind=c_size_t)
    if (options%write_count > 0) options%writes = c_loc(fields)
    options%function = c_funloc(call_stage)
    options%argument = c_loc(box)
    if (error == PLAIT_SUCCESS) error = c_system_add_stage(system%handle, options)
    call finish(error, ierr)
  end subroutine

  !> Called by C on a worker, by its address: it has no name there.
  recursive integer(c_int) function call_stage(store, count, places, argument) bind(C, name="")
    type(c_ptr), value :: store, argument
    integer(c_size_t), value :: count
    integer(c_int32_t), intent(in) :: places(count)
    type(procedure_box), pointer :: box
    integer :: ierr
    call c_f_pointer(argument, box)
    ierr = PLAIT_SUCCESS
    call box%stage(plait_store(store), int(places) + 1, ierr)
    call_stage = int(ierr, c_int)
  end function

  subroutine plait_system_run_until(system, time, ierr)
    type(plait_system), intent(in) :: system
    double precision, intent(in) :: time
    integer, intent(out), optional :: ierr
    call finish(c_system_run_until(system%handle, time), ierr)
  end subroutine

  subroutine plait_system_synchronise(system, ierr)
    type(plait_system), intent(in) :: system
    integer, intent(out), optional :: ierr
    call finish(c_system_synchronise(system%handle), ierr)
  end subroutine

  double precision function plait_system_time(system)
    type(plait_system), intent(in) :: system
    plait_system_time = c_system_time(system%handle)
  end function

  logical function plait_system_is_over(system)
    type(plait_system), intent(in) :: system
    plait_system_is_over = c_system_is_over(system%handle) /= 0
  end function

  subroutine plait_system_last_step(system, step, ierr)
    type(plait_system), intent(in) :: system
    type(plait_step_result), intent(out), target :: step
    integer, intent(out), optional :: ierr
    call finish(c_system_last_step(system%handle, c_loc(step)), ierr)
  end subroutine

  ! ---- systems that step ----

  subroutine plait_system_set_time(system, time, ierr)
    type(plait_system), intent(in) :: system
    double precision, intent(in) :: time
    integer, intent(out), optional :: ierr
    call finish(c_system_set_time(system%handle, time), ierr)
  end subroutine

  subroutine plait_system_update(system, ierr)
    type(plait_system), intent(in) :: system
    integer, intent(out), optional :: ierr
    call finish(c_system_update(system%handle), ierr)
  end subroutine

  subroutine plait_system_step(system, ierr)
    type(plait_system), intent(in) :: system
    integer, intent(out), optional :: ierr
    call finish(c_system_step(system%handle), ierr)
  end subroutine

  subroutine plait_system_distribute(system, ierr)
    type(plait_system), intent(in) :: system
    integer, intent(out), optional :: ierr
    call finish(c_system_distribute(system%handle), ierr)
  end subroutine

  subroutine sum_array(system, values, ierr)
    type(plait_system), intent(in) :: system
    double precision, intent(inout), contiguous :: values(:)
    integer, intent(out), optional :: ierr
    call finish(c_system_sum(system%handle, size(values, kind=c_size_t), values), ierr)
  end subroutine

  subroutine sum_scalar(system, value, ierr)
    type(plait_system), intent(in) :: system
    double precision, intent(inout) :: value
    integer, intent(out), optional :: ierr
    real(c_double) :: values(1)
    integer(c_int) :: error
    values(1) = value
    error = c_system_sum(system%handle, 1_c_size_t, values)
    value = values(1)
    call finish(error, ierr)
  end subroutine

  subroutine plait_system_domain(system, low, high, ierr)
    type(plait_system), intent(in) :: system
    double precision, intent(inout) :: low(3), high(3)
    integer, intent(out), optional :: ierr
    call finish(c_system_domain(system%handle, low, high), ierr)
  end subroutine

  subroutine plait_system_take_times(system, times, ierr)
    type(plait_system), intent(in) :: system
    type(plait_step_times), intent(out), target :: times
    integer, intent(out), optional :: ierr
    call finish(c_system_take_times(system%handle, c_loc(times)), ierr)
  end subroutine
end module plait_particles
