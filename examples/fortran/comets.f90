! SPDX-License-Identifier: Apache-2.0
! ranks: 1 2
! expected: 20_comets.expected
! needs: plait::fortran-particles
!> Comets on eccentric orbits around a star. Each takes time steps of its own: short ones near the star only. It counts
!! them beside the steps of a run in which all comets take the shortest step of any.
module orbits
  use, intrinsic :: iso_c_binding
  use plait
  use plait_particles
  implicit none
  integer, parameter :: double = kind(1d0), comets = 16
  real(double), parameter :: comet_mass = 1d-12, pi = acos(-1d0)  ! the mass of the star is 1
  integer :: mass, velocity, acceleration, potential
contains

  recursive real(double) function axis_of(id)
    integer(c_int64_t), intent(in) :: id
    axis_of = 1 + 0.125d0 * id
  end function

  !> The star has the id 0. A comet begins where it is farthest away from it.
  subroutine add_all(store)
    type(plait_store), intent(in) :: store
    real(double), pointer :: places(:, :), velocities(:, :), masses(:)
    integer(c_int64_t), pointer :: ids(:)
    real(double) :: eccentricity, angle, distance, speed
    integer(c_int64_t) :: id
    call plait_store_add(store, comets + 1)
    call plait_store_values(store, PLAIT_POSITION, places)
    call plait_store_values(store, PLAIT_ID, ids)
    call plait_store_values(store, velocity, velocities)
    call plait_store_values(store, mass, masses)
    masses(1) = 1
    do id = 1, comets
      eccentricity = merge(0.5d0, 0.75d0, mod(id, 2_c_int64_t) == 0)
      angle = 2 * pi * id / comets
      distance = axis_of(id) * (1 + eccentricity)
      speed = sqrt((1 - eccentricity) / distance)
      ids(id + 1) = id
      masses(id + 1) = comet_mass
      places(:, id + 1) = distance * [cos(angle), sin(angle), 0d0]
      velocities(:, id + 1) = speed * [-sin(angle), cos(angle), 0d0]
    end do
  end subroutine

  !> Any worker calls it, for particles whose steps end.
  recursive subroutine limit(store, places, longest, ierr)
    type(plait_store), intent(in) :: store
    integer, intent(in), contiguous :: places(:)
    real(double), intent(inout), contiguous :: longest(:)
    integer, intent(inout) :: ierr
    real(double), pointer :: accelerations(:, :)
    integer :: k
    call plait_store_values(store, acceleration, accelerations, ierr)
    do k = 1, size(places)  ! the acceleration is 1 / r^2
      longest(k) = min(longest(k), 0.02d0 / norm2(accelerations(:, places(k)))**0.75d0)
    end do
  end subroutine

  !> The largest relative error of the energy of a comet of this rank, -1 / (2 axis).
  real(double) function energy_error(store)
    type(plait_store), intent(in) :: store
    real(double), pointer :: velocities(:, :), potentials(:)
    integer(c_int64_t), pointer :: ids(:)
    integer :: i
    call plait_store_values(store, velocity, velocities)
    call plait_store_values(store, potential, potentials)
    call plait_store_values(store, PLAIT_ID, ids)
    energy_error = 0
    do i = 1, plait_store_size(store)
      if (ids(i) == 0) cycle
      energy_error = max(energy_error, &
                         abs(2 * axis_of(ids(i)) * (sum(velocities(:, i)**2) / 2 + potentials(i)) + 1))
    end do
  end function

  subroutine run(runtime, lengths, updates, error)
    type(plait_runtime), intent(in) :: runtime
    integer, intent(in) :: lengths
    real(double), intent(out) :: updates, error
    type(plait_store) :: store
    type(plait_system) :: system
    type(plait_step_result) :: step
    call plait_store_create(store)
    call plait_store_add_field(store, "mass", mass)
    call plait_store_add_field(store, "velocity", velocity, components=3)
    call plait_store_add_field(store, "acceleration", acceleration, components=3)
    call plait_store_add_field(store, "potential", potential)
    if (plait_rank(runtime) == 0) call add_all(store)
    call plait_system_create(runtime, store, system)
    call plait_system_add_long_range(system, mass, acceleration, potential, theta=0d0, velocity=velocity)
    call plait_system_integrate(system, velocity, acceleration)
    call plait_system_limit_steps_by(system, limit)
    call plait_system_take_steps(system, lengths, end=20d0, step_max=0.25d0)
    call plait_system_update(system)
    updates = 0
    do while (.not. plait_system_is_over(system))
      call plait_system_step(system)
      call plait_system_last_step(system, step)
      updates = updates + merge(real(step%updated, double), comets + 1d0, lengths == PLAIT_INDIVIDUAL_STEPS)
    end do
    call plait_system_synchronise(system)
    error = energy_error(store)
    call plait_system_sum(system, error)
    call plait_system_free(system)
    call plait_store_free(store)
  end subroutine
end module

program comets_of_a_star
  use mpi
  use orbits
  implicit none
  type(plait_runtime) :: runtime
  real(double) :: updates(2), errors(2)
  integer :: provided, error
  call MPI_Init_thread(MPI_THREAD_SERIALIZED, provided, error)
  call plait_runtime_create(MPI_COMM_WORLD, runtime)
  call run(runtime, PLAIT_INDIVIDUAL_STEPS, updates(1), errors(1))
  call run(runtime, PLAIT_EQUAL_STEPS, updates(2), errors(2))
  if (plait_rank(runtime) == 0) then
    print "(2a)", "energies kept within 1e-3: ", merge("yes", "no ", maxval(errors) < 1d-3)
    print "(a, f3.1)", "updates of equal steps for one of individual steps: ", updates(2) / updates(1)
  end if
  call plait_runtime_free(runtime, error)
  call MPI_Finalize(error)
end program
