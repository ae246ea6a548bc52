! SPDX-License-Identifier: Apache-2.0
!> Settings that the other programs leave at their defaults: ranks in a given grid, coordinates, reused trees, a
!! cut-off, kinds of targets, and a search by the reach of sources; beside direct sums. It prints nothing when all is
!! right.
module cloud
  use, intrinsic :: iso_c_binding
  use plait
  use plait_particles
  use facts
  implicit none
  integer, parameter :: count = 240, steps = 5
  real(double), parameter :: time_step = 0.015625d0, cutoff = 0.5d0, softening = 0.05d0, coupling = 2, factor = 0.5d0
  integer :: mass, velocity, acceleration, potential, reach, near
contains

  recursive real(double) function mass_of(id)
    integer(c_int64_t), intent(in) :: id
    mass_of = (1 + number_of(id, 3)) / count
  end function

  recursive real(c_float) function reach_of(id)
    integer(c_int64_t), intent(in) :: id
    reach_of = real(0.2d0 + 0.4d0 * number_of(id, 7), c_float)
  end function

  recursive function place_of(id, time) result(place)
    integer(c_int64_t), intent(in) :: id
    real(double), intent(in) :: time
    real(double) :: place(3)
    place = [number_of(id, 0), number_of(id, 1), number_of(id, 2)] - 0.5d0 + time * velocity_of(id)
  end function

  subroutine make_cloud(runtime, store)
    type(plait_runtime), intent(in) :: runtime
    type(plait_store), intent(out) :: store
    real(double), pointer :: places(:, :), velocities(:, :), masses(:)
    real(c_float), pointer :: reaches(:)
    integer(c_int64_t), pointer :: ids(:)
    integer(c_int8_t), pointer :: kinds(:)
    integer(c_int64_t) :: id
    integer :: at
    call plait_store_create(store)
    call plait_store_add_field(store, "mass", mass)
    call plait_store_add_field(store, "velocity", velocity, components=3)
    call plait_store_add_field(store, "acceleration", acceleration, components=3)
    call plait_store_add_field(store, "potential", potential)
    call plait_store_add_field(store, "reach", reach, element=PLAIT_FLOAT)
    call plait_store_add_field(store, "near", near, element=PLAIT_FLOAT)
    do id = 1 + plait_rank(runtime), count, plait_rank_count(runtime)
      call plait_store_add(store, 1, at)
      call plait_store_values(store, PLAIT_POSITION, places)
      call plait_store_values(store, PLAIT_ID, ids)
      call plait_store_values(store, PLAIT_KIND, kinds)
      call plait_store_values(store, mass, masses)
      call plait_store_values(store, velocity, velocities)
      call plait_store_values(store, reach, reaches)
      ids(at) = id
      kinds(at) = int(mod(id, 2_c_int64_t), c_int8_t)
      masses(at) = mass_of(id)
      places(:, at) = place_of(id, 0d0)
      velocities(:, at) = velocity_of(id)
      reaches(at) = reach_of(id)
    end do
  end subroutine

  recursive subroutine drift(store, first, last, ierr)
    type(plait_store), intent(in) :: store
    integer, intent(in) :: first, last
    integer, intent(inout) :: ierr
    real(double), pointer :: places(:, :), velocities(:, :)
    call plait_store_values(store, PLAIT_POSITION, places, ierr)
    call plait_store_values(store, velocity, velocities)
    places(:, first:last) = places(:, first:last) + time_step * velocities(:, first:last)
  end subroutine

  !> Counts the sources within whose reach a target is.
  recursive subroutine count_near(block, ierr)
    type(plait_pair_block), intent(in) :: block
    integer, intent(inout) :: ierr
    real(c_float), pointer :: counts(:)
    integer :: i, j
    call plait_store_values(block%store, near, counts, ierr)
    associate (to => block%targets, from => block%sources)
      do i = 1, size(to%x)
        do j = 1, size(from%x)
          if (norm2([from%x(j) - to%x(i), from%y(j) - to%y(i), from%z(j) - to%z(i)]) < &
              real(factor, c_float) * from%values(1)%p(j)) counts(to%places(i)) = counts(to%places(i)) + 1
        end do
      end do
    end associate
  end subroutine

  !> Gravity acts on kind 0; kind 1 is counted near. An error of cells is that of single precision.
  subroutine compare(store, time, tolerance)
    type(plait_store), intent(in) :: store
    real(double), intent(in) :: time, tolerance
    real(double), pointer :: accelerations(:, :)
    real(c_float), pointer :: counts(:), costs(:)
    integer(c_int64_t), pointer :: ids(:)
    real(double) :: exact(3), d(3)
    integer(c_int64_t) :: j
    integer :: i, near_it
    call plait_store_values(store, PLAIT_ID, ids)
    call plait_store_values(store, PLAIT_COST, costs)
    call plait_store_values(store, acceleration, accelerations)
    call plait_store_values(store, near, counts)
    do i = 1, plait_store_size(store)
      exact = 0
      near_it = 0
      do j = 1, count
        d = place_of(j, time) - place_of(ids(i), time)
        if (norm2(d) < factor * real(reach_of(j), double)) near_it = near_it + 1
        if (norm2(d) < cutoff) exact = exact + coupling * mass_of(j) * d / (sum(d**2) + softening**2)**1.5d0
      end do
      if (mod(ids(i), 2_c_int64_t) == 0) then
        near_it = 0
        call check(costs(i) > 0, "targets have a cost")
      else
        exact = 0
      end if
      call check(maxval(abs(accelerations(:, i) - exact)) < tolerance, "accelerations are those of direct sums")
      call check(nint(counts(i)) == near_it, "counts are those over all pairs")
    end do
  end subroutine

  !> Between two builds of trees, particles stay on their ranks.
  subroutine sum_with(runtime, coordinates, precision, tolerance)
    type(plait_runtime), intent(in) :: runtime
    integer, intent(in) :: coordinates, precision
    real(double), intent(in) :: tolerance
    type(plait_store) :: store
    type(plait_system) :: system
    type(plait_step_times) :: times
    integer :: step, ierr
    call make_cloud(runtime, store)
    call plait_system_create(runtime, store, system, grid=[plait_rank_count(runtime) + 1, 1, 1], ierr=ierr)
    call check(ierr == PLAIT_BAD_ARGUMENT, "a grid of more ranks is refused")
    call plait_system_create(runtime, store, system, coordinates=coordinates, grid=[plait_rank_count(runtime), 1, 1], &
                             steps_between_decompositions=0, steps_between_trees=2)
    call plait_system_add_long_range(system, mass, acceleration, potential, theta=0d0, softening=softening, &
                                     coupling=coupling, cutoff=cutoff, order=PLAIT_QUADRUPOLE, precision=precision, &
                                     lets=PLAIT_LETS_FAST, target_kinds=1_c_int64_t, reuses_lists=.true., &
                                     measures_sizes=.true.)
    call plait_system_add_short_range(system, reach, [near], count_near, sources=[reach], search=PLAIT_SCATTER, &
                                      reach_factor=factor, target_kinds=2_c_int64_t)
    call plait_system_after(system, "drift", drift)
    do step = 1, steps
      call plait_system_step(system)
    end do
    call plait_system_update(system)  ! after the last drift
    call compare(store, steps * time_step, tolerance)
    call plait_system_take_times(system, times)
    call check(times%steps == steps .and. times%wall_seconds > 0, "steps are counted")
    call plait_system_free(system)
    call plait_store_free(store)
  end subroutine
end module

program settings
  use mpi
  use cloud
  implicit none
  type(plait_runtime) :: runtime
  integer :: provided, error
  call MPI_Init_thread(MPI_THREAD_SERIALIZED, provided, error)
  call plait_runtime_create(MPI_COMM_WORLD, runtime, workers=2)
  call sum_with(runtime, PLAIT_CARTESIAN, PLAIT_FULL, tolerance=1d-9)
  call sum_with(runtime, PLAIT_CYLINDRICAL, PLAIT_FULL, tolerance=1d-9)
  call sum_with(runtime, PLAIT_CARTESIAN, PLAIT_MIXED, tolerance=1d-3)
  call plait_runtime_free(runtime, error)
  call MPI_Finalize(error)
  if (failures > 0) stop 1
end program
