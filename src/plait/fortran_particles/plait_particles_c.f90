! SPDX-License-Identifier: Apache-2.0
!> The functions of plait_particles.h that the module plait_particles calls, as they are. Programs use that module.
module plait_particles_c
  use, intrinsic :: iso_c_binding
  implicit none
  public

  !> As plait_system_options of plait_particles.h.
  type, bind(C) :: c_system_options
    integer(c_size_t) :: size
    real(c_double) :: low(3), high(3)
    integer(c_int) :: periodic(3)
    integer(c_int) :: coordinates
    integer(c_int) :: grid(3)
    integer(c_int) :: steps_between_decompositions
    integer(c_int) :: steps_between_trees
    real(c_double) :: shear_rate
    integer(c_int) :: shear_velocity
    integer(c_int) :: cell_reach
    integer(c_int64_t) :: limited_kinds
  end type

  !> As plait_bodies.
  type, bind(C) :: c_bodies
    integer(c_size_t) :: count
    type(c_ptr) :: x, y, z, charge
  end type

  !> As plait_cells.
  type, bind(C) :: c_cells
    integer(c_size_t) :: count
    type(c_ptr) :: x, y, z, charge
    type(c_ptr) :: xx, xy, xz, yy, yz
  end type

  !> As plait_tree_block.
  type, bind(C) :: c_tree_block
    integer(c_size_t) :: count
    type(c_ptr) :: x, y, z
    type(c_ptr) :: near_x, near_y, near_z
    type(c_ptr) :: sums
    type(c_bodies) :: bodies
    type(c_cells) :: near_bodies
    type(c_cells) :: cells
    real(c_double) :: softening2, cutoff2
    real(c_double) :: period(3)
    real(c_double) :: displacement
    type(c_ptr) :: moments
    integer(c_size_t) :: moment_count
  end type

  !> As plait_long_range_options.
  type, bind(C) :: c_long_range_options
    integer(c_size_t) :: size
    integer(c_int) :: charge, acceleration, potential
    integer(c_int64_t) :: source_kinds, target_kinds
    real(c_double) :: theta, softening, coupling, cutoff
    integer(c_int) :: order, precision, lets, measures_sizes, reuses_lists
    type(c_funptr) :: kernel
    type(c_ptr) :: argument
    integer(c_int) :: has_both_signs
    integer(c_size_t) :: moment_bytes
    type(c_ptr) :: moment_of_none
    type(c_funptr) :: add_body, add_child
    type(c_ptr) :: moment_argument
    integer(c_int) :: velocity
  end type

  !> As plait_block_particles.
  type, bind(C) :: c_block_particles
    integer(c_size_t) :: count, padded_count
    type(c_ptr) :: x, y, z
    type(c_ptr) :: values
    type(c_ptr) :: places
  end type

  !> As plait_pair_block.
  type, bind(C) :: c_pair_block
    type(c_ptr) :: store
    real(c_double) :: centre(3)
    type(c_block_particles) :: targets, sources
  end type

  !> As plait_neighbour_options.
  type, bind(C) :: c_neighbour_options
    integer(c_size_t) :: size
    integer(c_int) :: search, radius_field
    real(c_double) :: radius
    integer(c_int64_t) :: source_kinds, target_kinds
    integer(c_size_t) :: travel_count
    type(c_ptr) :: travels
  end type

  !> As plait_neighbour_lists.
  type, bind(C) :: c_neighbour_lists
    integer(c_size_t) :: count
    type(c_ptr) :: offsets, indices
    integer(c_size_t) :: imported_count
  end type

  !> As plait_short_range_options.
  type, bind(C) :: c_short_range_options
    integer(c_size_t) :: size
    integer(c_int) :: search, reach
    real(c_double) :: reach_factor
    integer(c_int64_t) :: source_kinds, target_kinds
    integer(c_size_t) :: target_count, source_count, result_count
    type(c_ptr) :: targets, sources, results
    type(c_funptr) :: kernel
    type(c_ptr) :: argument
  end type

  !> As plait_kick.
  type, bind(C) :: c_kick
    integer(c_int32_t) :: place
    real(c_double) :: duration
  end type

  !> As plait_integrator.
  type, bind(C) :: c_integrator
    integer(c_size_t) :: size
    integer(c_int) :: velocity, acceleration, velocity_now
    type(c_funptr) :: drift, kick, settle
    integer(c_size_t) :: predicted_count, force_count
    type(c_ptr) :: predicted, forces
    type(c_ptr) :: argument
  end type

  !> As plait_time_steps.
  type, bind(C) :: c_time_steps
    integer(c_size_t) :: size
    integer(c_int) :: lengths
    real(c_double) :: step, begin, end, step_max, step_min
  end type

  !> As plait_stage_options.
  type, bind(C) :: c_stage_options
    integer(c_size_t) :: size
    type(c_ptr) :: name
    integer(c_int64_t) :: kinds
    integer(c_size_t) :: write_count
    type(c_ptr) :: writes
    type(c_funptr) :: function
    type(c_ptr) :: argument
  end type

  interface
    ! ---- stores ----
    integer(c_int) function c_store_create(store) bind(C, name="plait_store_create")
      import
      type(c_ptr), intent(inout) :: store
    end function
    integer(c_int) function c_store_free(store) bind(C, name="plait_store_free")
      import
      type(c_ptr), intent(inout) :: store
    end function
    integer(c_int) function c_store_add_field(store, name, element, components, field) &
        bind(C, name="plait_store_add_field")
      import
      type(c_ptr), value :: store
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int), value :: element, components
      integer(c_int), intent(inout) :: field
    end function
    integer(c_int) function c_store_describe_field(store, field, element, components) &
        bind(C, name="plait_store_describe_field")
      import
      type(c_ptr), value :: store
      integer(c_int), value :: field
      integer(c_int), intent(inout) :: element, components
    end function
    integer(c_size_t) function c_store_size(store) bind(C, name="plait_store_size")
      import
      type(c_ptr), value :: store
    end function
    integer(c_int) function c_store_add(store, count, first) bind(C, name="plait_store_add")
      import
      type(c_ptr), value :: store
      integer(c_size_t), value :: count
      integer(c_size_t), intent(inout) :: first
    end function
    integer(c_int) function c_store_remove(store, count, places) bind(C, name="plait_store_remove")
      import
      type(c_ptr), value :: store
      integer(c_size_t), value :: count
      integer(c_int32_t), intent(in) :: places(*)
    end function
    type(c_ptr) function c_store_values(store, field) bind(C, name="plait_store_values")
      import
      type(c_ptr), value :: store
      integer(c_int), value :: field
    end function

    ! ---- systems ----
    integer(c_int) function c_system_options_init(options, size) bind(C, name="plait_system_options_init")
      import
      type(c_system_options), intent(out) :: options
      integer(c_size_t), value :: size
    end function
    integer(c_int) function c_system_create(runtime, store, options, system) bind(C, name="plait_system_create")
      import
      type(c_ptr), value :: runtime, store
      type(c_system_options), intent(in) :: options
      type(c_ptr), intent(inout) :: system
    end function
    integer(c_int) function c_system_free(system) bind(C, name="plait_system_free")
      import
      type(c_ptr), intent(inout) :: system
    end function

    ! ---- interactions ----
    integer(c_int) function c_long_range_options_init(options, size) bind(C, name="plait_long_range_options_init")
      import
      type(c_long_range_options), intent(out) :: options
      integer(c_size_t), value :: size
    end function
    integer(c_int) function c_system_add_long_range(system, options) bind(C, name="plait_system_add_long_range")
      import
      type(c_ptr), value :: system
      type(c_long_range_options), intent(in) :: options
    end function
    integer(c_int) function c_short_range_options_init(options, size) bind(C, name="plait_short_range_options_init")
      import
      type(c_short_range_options), intent(out) :: options
      integer(c_size_t), value :: size
    end function
    integer(c_int) function c_system_add_short_range(system, options) bind(C, name="plait_system_add_short_range")
      import
      type(c_ptr), value :: system
      type(c_short_range_options), intent(in) :: options
    end function

    ! ---- neighbours ----
    integer(c_int) function c_neighbour_options_init(options, size) bind(C, name="plait_neighbour_options_init")
      import
      type(c_neighbour_options), intent(out) :: options
      integer(c_size_t), value :: size
    end function
    integer(c_int) function c_system_add_neighbours(system, options, neighbours) &
        bind(C, name="plait_system_add_neighbours")
      import
      type(c_ptr), value :: system
      type(c_neighbour_options), intent(in) :: options
      type(c_ptr), intent(inout) :: neighbours
    end function
    integer(c_int) function c_neighbours_get(neighbours, lists) bind(C, name="plait_neighbours_get")
      import
      type(c_ptr), value :: neighbours
      type(c_neighbour_lists), intent(inout) :: lists
    end function
    type(c_ptr) function c_neighbours_imported_values(neighbours, field) &
        bind(C, name="plait_neighbours_imported_values")
      import
      type(c_ptr), value :: neighbours
      integer(c_int), value :: field
    end function

    ! ---- steps ----
    integer(c_int) function c_system_before(system, kind, function, argument) bind(C, name="plait_system_before")
      import
      type(c_ptr), value :: system, argument
      character(kind=c_char), intent(in) :: kind(*)
      type(c_funptr), value :: function
    end function
    integer(c_int) function c_system_after(system, kind, function, argument) bind(C, name="plait_system_after")
      import
      type(c_ptr), value :: system, argument
      character(kind=c_char), intent(in) :: kind(*)
      type(c_funptr), value :: function
    end function
    integer(c_int) function c_system_when_summed(system, function, argument) bind(C, name="plait_system_when_summed")
      import
      type(c_ptr), value :: system, argument
      type(c_funptr), value :: function
    end function
    integer(c_int) function c_system_add_leapfrog(system, velocity, acceleration, time_step) &
        bind(C, name="plait_system_add_leapfrog")
      import
      type(c_ptr), value :: system
      integer(c_int), value :: velocity, acceleration
      real(c_double), value :: time_step
    end function
    integer(c_int) function c_system_set_time(system, time) bind(C, name="plait_system_set_time")
      import
      type(c_ptr), value :: system
      real(c_double), value :: time
    end function
    integer(c_int) function c_system_update(system) bind(C, name="plait_system_update")
      import
      type(c_ptr), value :: system
    end function
    integer(c_int) function c_system_step(system) bind(C, name="plait_system_step")
      import
      type(c_ptr), value :: system
    end function
    integer(c_int) function c_system_distribute(system) bind(C, name="plait_system_distribute")
      import
      type(c_ptr), value :: system
    end function
    integer(c_int) function c_system_sum(system, count, values) bind(C, name="plait_system_sum")
      import
      type(c_ptr), value :: system
      integer(c_size_t), value :: count
      real(c_double), intent(inout) :: values(*)
    end function
    integer(c_int) function c_system_domain(system, low, high) bind(C, name="plait_system_domain")
      import
      type(c_ptr), value :: system
      real(c_double), intent(inout) :: low(3), high(3)
    end function
    integer(c_int) function c_system_take_times(system, times) bind(C, name="plait_system_take_times")
      import
      type(c_ptr), value :: system, times
    end function

    ! ---- steps of other lengths ----
    integer(c_int) function c_integrator_init(integrator, size) bind(C, name="plait_integrator_init")
      import
      type(c_integrator), intent(out) :: integrator
      integer(c_size_t), value :: size
    end function
    integer(c_int) function c_system_integrate(system, integrator) bind(C, name="plait_system_integrate")
      import
      type(c_ptr), value :: system
      type(c_integrator), intent(in) :: integrator
    end function
    integer(c_int) function c_time_steps_init(steps, size) bind(C, name="plait_time_steps_init")
      import
      type(c_time_steps), intent(out) :: steps
      integer(c_size_t), value :: size
    end function
    integer(c_int) function c_system_take_steps(system, steps) bind(C, name="plait_system_take_steps")
      import
      type(c_ptr), value :: system
      type(c_time_steps), intent(in) :: steps
    end function
    integer(c_int) function c_system_limit_steps_by(system, criterion, argument) &
        bind(C, name="plait_system_limit_steps_by")
      import
      type(c_ptr), value :: system, argument
      type(c_funptr), value :: criterion
    end function
    integer(c_int) function c_stage_options_init(options, size) bind(C, name="plait_stage_options_init")
      import
      type(c_stage_options), intent(out) :: options
      integer(c_size_t), value :: size
    end function
    integer(c_int) function c_system_add_stage(system, options) bind(C, name="plait_system_add_stage")
      import
      type(c_ptr), value :: system
      type(c_stage_options), intent(in) :: options
    end function
    integer(c_int) function c_system_add_pair_stage(system, name, options) bind(C, name="plait_system_add_pair_stage")
      import
      type(c_ptr), value :: system
      character(kind=c_char), intent(in) :: name(*)
      type(c_short_range_options), intent(in) :: options
    end function
    integer(c_int) function c_system_run_until(system, time) bind(C, name="plait_system_run_until")
      import
      type(c_ptr), value :: system
      real(c_double), value :: time
    end function
    integer(c_int) function c_system_synchronise(system) bind(C, name="plait_system_synchronise")
      import
      type(c_ptr), value :: system
    end function
    real(c_double) function c_system_time(system) bind(C, name="plait_system_time")
      import
      type(c_ptr), value :: system
    end function
    integer(c_int) function c_system_is_over(system) bind(C, name="plait_system_is_over")
      import
      type(c_ptr), value :: system
    end function
    integer(c_int) function c_system_last_step(system, result) bind(C, name="plait_system_last_step")
      import
      type(c_ptr), value :: system, result
    end function
  end interface
end module plait_particles_c
