! SPDX-License-Identifier: Apache-2.0
!> Stores, interactions, neighbours and steps of one length, on any number of ranks. It prints nothing when all is
!! right. Every rank computes all particles from their ids, and so compares with direct sums.
module gas
  use, intrinsic :: ieee_arithmetic, only: ieee_value, ieee_quiet_nan
  use, intrinsic :: iso_c_binding
  use plait
  use plait_particles
  use facts
  implicit none
  integer, parameter :: count = 300, steps = 5
  real(double), parameter :: softening = 0.05d0, reach_of_all = 0.2d0, time_step = 0.125d0
  integer :: mass, velocity, acceleration, potential, reach, density, neighbours, colour
  integer :: updates = 0
contains

  recursive real(double) function mass_of(id)
    integer(c_int64_t), intent(in) :: id
    mass_of = (1 + number_of(id, 3)) / count
  end function

  recursive function place_of(id) result(place)
    integer(c_int64_t), intent(in) :: id
    real(double) :: place(3)
    place = [number_of(id, 0), number_of(id, 1), number_of(id, 2)]
  end function

  !> All particles begin on the last rank.
  subroutine make_gas(runtime, store)
    type(plait_runtime), intent(in) :: runtime
    type(plait_store), intent(out) :: store
    real(double), pointer :: places(:, :), velocities(:, :)
    ! Pointers may be contiguous or not.
    real(double), pointer, contiguous :: masses(:)
    real(c_float), pointer :: reaches(:)
    integer(c_int64_t), pointer :: ids(:)
    integer(c_int8_t), pointer :: kinds(:)
    integer(c_int64_t) :: id
    integer :: first
    call plait_store_create(store)
    call plait_store_add_field(store, "mass", mass)
    call plait_store_add_field(store, "velocity", velocity, components=3)
    call plait_store_add_field(store, "acceleration", acceleration, components=3)
    call plait_store_add_field(store, "potential", potential)
    call plait_store_add_field(store, "reach", reach, element=PLAIT_FLOAT)
    call plait_store_add_field(store, "density", density)
    call plait_store_add_field(store, "neighbours", neighbours, components=2, element=PLAIT_INT32)
    call plait_store_add_field(store, "colour", colour, components=3, element=PLAIT_FLOAT)
    call plait_store_values(store, velocity, velocities)
    call check(all(shape(velocities) == [3, 0]), "an empty store has pointers of size 0")
    if (plait_rank(runtime) /= plait_rank_count(runtime) - 1) return
    call plait_store_add(store, count, first)
    call check(first == 1 .and. plait_store_size(store) == count, "particles are added from place 1 on")
    call plait_store_values(store, PLAIT_POSITION, places)
    call plait_store_values(store, PLAIT_ID, ids)
    call plait_store_values(store, PLAIT_KIND, kinds)
    call plait_store_values(store, mass, masses)
    call plait_store_values(store, velocity, velocities)
    call plait_store_values(store, reach, reaches)
    reaches = real(reach_of_all, c_float)
    do id = 1, count
      ids(id) = id
      kinds(id) = int(mod(id, 2_c_int64_t), c_int8_t)
      masses(id) = mass_of(id)
      places(:, id) = place_of(id)
      velocities(:, id) = velocity_of(id)
    end do
  end subroutine

  ! ---- stores ----

  subroutine use_a_store(runtime)
    type(plait_runtime), intent(in) :: runtime
    type(plait_store) :: store
    integer(c_int64_t), pointer :: ids(:)
    integer(c_int32_t), pointer :: counts(:, :), wrong_rank(:)
    real(c_float), pointer :: colours(:, :)
    integer :: ierr, field, before
    call make_gas(runtime, store)
    call plait_store_add_field(store, "mass", field, ierr=ierr)
    call check(ierr == PLAIT_BAD_ARGUMENT, "two fields of one name are refused")
    call plait_store_values(store, neighbours, wrong_rank, ierr)
    call check(ierr == PLAIT_BAD_ARGUMENT .and. .not. associated(wrong_rank), "a pointer of another rank is refused")
    call plait_store_values(store, 99, ids, ierr)
    call check(ierr == PLAIT_BAD_ARGUMENT, "a field that does not exist is refused")
    call plait_store_add(store, -1, ierr=ierr)
    call check(ierr == PLAIT_BAD_ARGUMENT, "a negative number of particles is refused")
    call plait_store_values(store, neighbours, counts)
    call plait_store_values(store, colour, colours)
    call check(size(counts, 1) == 2 .and. size(colours, 1) == 3, "components are the first dimension")
    if (plait_store_size(store) == count) then
      before = plait_store_size(store)
      call plait_store_remove(store, [1, 3])
      call plait_store_values(store, PLAIT_ID, ids)
      call check(plait_store_size(store) == before - 2, "particles are removed")
      call check(.not. any(ids == 1) .and. .not. any(ids == 3) .and. any(ids == 2), "those that were named are removed")
      call plait_store_remove(store, [5, 4], ierr)
      call check(ierr == PLAIT_BAD_ARGUMENT, "places that do not ascend are refused")
    end if
    call plait_store_free(store)
  end subroutine

  ! ---- long range ----

  subroutine gravity(block, ierr)
    type(plait_tree_block), intent(in) :: block
    integer, intent(inout) :: ierr
    real(double) :: d(3), r
    integer :: i, j
    do i = 1, size(block%x)
      do j = 1, size(block%bodies%x)
        d = [block%bodies%x(j) - block%x(i), block%bodies%y(j) - block%y(i), block%bodies%z(j) - block%z(i)]
        r = 1 / sqrt(sum(d**2) + block%softening2)
        block%sums(1:3, i) = block%sums(1:3, i) + block%bodies%charge(j) * r**3 * d
        block%sums(4, i) = block%sums(4, i) - block%bodies%charge(j) * r
      end do
    end do
    if (size(block%cells%x) > 0 .or. size(block%near_bodies%x) > 0) ierr = PLAIT_BAD_ARGUMENT  ! theta is 0
    if (block%cutoff2 < 100 .or. any(abs(block%period) > 0)) ierr = PLAIT_BAD_ARGUMENT
  end subroutine

  !> Compares with direct sums. `with_self`: the kernel has added the potential of a particle at its own centre.
  subroutine sum_gravity(runtime, with_self, tolerance)
    type(plait_runtime), intent(in) :: runtime
    logical, intent(in) :: with_self
    real(double), intent(in) :: tolerance
    type(plait_store) :: store
    type(plait_system) :: system
    type(plait_step_times) :: times
    real(double), pointer :: places(:, :), accelerations(:, :), potentials(:)
    integer(c_int64_t), pointer :: ids(:)
    real(double) :: exact(4), d(3), r, total, pair_of_sums(2), low(3), high(3)
    integer(c_int64_t) :: j
    integer :: i
    call make_gas(runtime, store)
    call plait_system_create(runtime, store, system)
    if (with_self) then
      call plait_system_add_long_range(system, mass, acceleration, potential, kernel=gravity, theta=0d0, &
                                       softening=softening, order=PLAIT_MONOPOLE, lets=PLAIT_LETS_ALL_TO_ALL)
    else
      call plait_system_add_long_range(system, mass, acceleration, potential, theta=0d0, softening=softening, &
                                       precision=PLAIT_FULL)
    end if
    call plait_system_update(system)
    total = plait_store_size(store)
    call plait_system_sum(system, total)
    pair_of_sums = [1d0, real(plait_rank(runtime), double)]
    call plait_system_sum(system, pair_of_sums)
    call check(nint(total) == count .and. nint(pair_of_sums(1)) == plait_rank_count(runtime), "sums are of all ranks")
    call plait_store_values(store, PLAIT_POSITION, places)
    call plait_store_values(store, PLAIT_ID, ids)
    call plait_store_values(store, acceleration, accelerations)
    call plait_store_values(store, potential, potentials)
    do i = 1, plait_store_size(store)
      exact = 0
      do j = 1, count
        d = place_of(j) - places(:, i)
        r = 1 / sqrt(sum(d**2) + softening**2)
        exact(1:3) = exact(1:3) + mass_of(j) * r**3 * d
        if (j /= ids(i) .or. with_self) exact(4) = exact(4) - mass_of(j) * r
      end do
      call check(maxval(abs(accelerations(:, i) - exact(1:3))) < tolerance, "accelerations are those of direct sums")
      call check(abs(potentials(i) - exact(4)) < tolerance, "potentials are those of direct sums")
    end do
    call plait_system_take_times(system, times)
    call check(times%interactions >= plait_store_size(store) * int(count, c_int64_t), "pairs are counted")
    call plait_system_domain(system, low, high)
    call check(all(low < high), "a rank has a domain")
    call plait_system_free(system)
    call plait_store_free(store)
  end subroutine

  ! ---- short range ----

  subroutine sum_density(block, ierr)
    type(plait_pair_block), intent(in) :: block
    integer, intent(inout) :: ierr
    real(double), pointer :: densities(:)
    integer(c_int32_t), pointer :: counts(:, :)
    real(c_float) :: r
    integer :: i, j, sign_of_z
    call plait_store_values(block%store, density, densities)
    call plait_store_values(block%store, neighbours, counts)
    if (size(block%sources%values) /= 4 .or. size(block%targets%values) /= 1) ierr = PLAIT_BAD_ARGUMENT
    associate (to => block%targets, from => block%sources)
      do i = 1, size(to%x)
        do j = 1, size(from%x)
          r = sqrt((from%x(j) - to%x(i))**2 + (from%y(j) - to%y(i))**2 + (from%z(j) - to%z(i))**2)
          if (r < to%values(1)%p(i)) then
            densities(to%places(i)) = densities(to%places(i)) + from%values(1)%p(j) * (1 - r / to%values(1)%p(i))
            sign_of_z = merge(1, 2, from%values(4)%p(j) < 0)
            counts(sign_of_z, to%places(i)) = counts(sign_of_z, to%places(i)) + 1
          end if
        end do
      end do
    end associate
  end subroutine

  subroutine sum_short_range(runtime)
    type(plait_runtime), intent(in) :: runtime
    type(plait_store) :: store
    type(plait_system) :: system
    real(double), pointer :: places(:, :), densities(:)
    integer(c_int32_t), pointer :: counts(:, :)
    real(double) :: exact, d(3), r, its_velocity(3)
    integer(c_int64_t) :: j
    integer :: i, ierr, exact_counts(2), sign_of_z
    call make_gas(runtime, store)
    call plait_system_create(runtime, store, system, low=[0d0, 0d0, 0d0], high=[1d0, 1d0, 1d0], &
                             periodic=[.true., .true., .true.])
    call plait_system_add_short_range(system, mass, [density], sum_density, ierr=ierr)
    call check(ierr == PLAIT_BAD_ARGUMENT, "a reach that is a double is refused")
    call plait_system_add_short_range(system, reach, [density, neighbours], sum_density, targets=[reach], &
                                      sources=[mass, velocity], search=PLAIT_GATHER, source_kinds=1_c_int64_t)
    call plait_system_update(system)
    call plait_store_values(store, PLAIT_POSITION, places)
    call plait_store_values(store, density, densities)
    call plait_store_values(store, neighbours, counts)
    do i = 1, plait_store_size(store)
      exact = 0
      exact_counts = 0
      do j = 2, count, 2
        d = place_of(j) - places(:, i)
        d = d - anint(d)
        r = sqrt(sum(d**2))
        if (r >= reach_of_all) cycle
        exact = exact + mass_of(j) * (1 - r / reach_of_all)
        its_velocity = velocity_of(j)
        sign_of_z = merge(1, 2, its_velocity(3) < 0)
        exact_counts(sign_of_z) = exact_counts(sign_of_z) + 1
      end do
      call check(abs(densities(i) - exact) < 1d-6, "densities are those of direct sums")
      call check(all(counts(:, i) == exact_counts), "neighbours are those of direct sums")
    end do
    call plait_system_free(system)
    call plait_store_free(store)
  end subroutine

  ! ---- moments ----

  !> Second moments about the centre of a cell: its charge, and xx, yy, zz, xy, xz, yz.
  recursive subroutine add_point(moment, its_charge, d)
    real(c_double), intent(inout) :: moment(7)
    real(double), intent(in) :: its_charge, d(3)
    moment = moment + its_charge * [1d0, d(1)**2, d(2)**2, d(3)**2, d(1) * d(2), d(1) * d(3), d(2) * d(3)]
  end subroutine

  subroutine add_body(moment, store, place, offset, ierr)
    real(c_double), intent(inout), contiguous :: moment(:)
    type(plait_store), intent(in) :: store
    integer, intent(in) :: place
    real(c_double), intent(in) :: offset(3)
    integer, intent(inout) :: ierr
    real(double), pointer :: masses(:)
    call plait_store_values(store, mass, masses)
    call add_point(moment, masses(place), offset)
    if (size(moment) /= 7) ierr = PLAIT_BAD_ARGUMENT
  end subroutine

  subroutine add_child(moment, child, offset, ierr)
    real(c_double), intent(inout), contiguous :: moment(:)
    real(c_double), intent(in), contiguous :: child(:)
    real(c_double), intent(in) :: offset(3)
    integer, intent(inout) :: ierr
    moment = moment + child
    call add_point(moment, child(1), offset)
    moment(1) = moment(1) - child(1)  ! which was added twice
    if (size(child) /= 7) ierr = PLAIT_BAD_ARGUMENT
  end subroutine

  !> The potential exp(-r) / r, and its force divided by r and by the charge.
  recursive subroutine yukawa(r, g, a, b, c)
    real(double), intent(in) :: r
    real(double), intent(out) :: g, a, b, c
    g = exp(-r) / r
    a = -exp(-r) * (r + 1) / r**3
    b = exp(-r) * (r**2 + 3 * r + 3) / r**5
    c = -exp(-r) * (r**3 + 6 * r**2 + 15 * r + 15) / r**7
  end subroutine

  subroutine screened(block, ierr)
    type(plait_tree_block), intent(in) :: block
    integer, intent(inout) :: ierr
    real(double) :: d(3), sd(3), r, g, a, b, c, trace
    integer :: i, j
    do i = 1, size(block%x)
      do j = 1, size(block%bodies%x)
        d = [block%bodies%x(j) - block%x(i), block%bodies%y(j) - block%y(i), block%bodies%z(j) - block%z(i)]
        r = sqrt(sum(d**2))
        if (.not. r > 0 .or. .not. block%bodies%charge(j) > 0) cycle
        call yukawa(r, g, a, b, c)
        block%sums(1:3, i) = block%sums(1:3, i) - block%bodies%charge(j) * a * d
      end do
      do j = 1, size(block%moments, 2)
        d = [block%cells%x(j) - block%near_x(i), block%cells%y(j) - block%near_y(i), block%cells%z(j) - block%near_z(i)]
        call yukawa(sqrt(sum(d**2)), g, a, b, c)
        associate (s => block%moments(:, j))
          sd = [s(2) * d(1) + s(5) * d(2) + s(6) * d(3), s(5) * d(1) + s(3) * d(2) + s(7) * d(3), &
                s(6) * d(1) + s(7) * d(2) + s(4) * d(3)]
          trace = sum(s(2:4))
          block%sums(1:3, i) = block%sums(1:3, i) - s(1) * a * d - (b * trace + c * dot_product(d, sd)) / 2 * d - b * sd
        end associate
      end do
    end do
    ierr = PLAIT_SUCCESS
  end subroutine

  !> A Yukawa force by moments of the program's own, beside direct sums.
  subroutine sum_moments(runtime)
    type(plait_runtime), intent(in) :: runtime
    type(plait_store) :: store
    type(plait_system) :: system
    real(double), pointer :: places(:, :), accelerations(:, :)
    real(double) :: exact(3), d(3), g, a, b, c, sums(2)
    integer(c_int64_t) :: j
    integer :: i, ierr
    call make_gas(runtime, store)
    call plait_system_create(runtime, store, system)
    call plait_system_add_long_range(system, mass, acceleration, potential, kernel=screened, moment_size=7, &
                                     add_body=add_body, ierr=ierr)
    call check(ierr == PLAIT_BAD_ARGUMENT, "moments without add_child are refused")
    call plait_system_add_long_range(system, mass, acceleration, potential, kernel=screened, theta=0.4d0, &
                                     moment_size=7, add_body=add_body, add_child=add_child)
    call plait_system_update(system)
    call plait_store_values(store, PLAIT_POSITION, places)
    call plait_store_values(store, acceleration, accelerations)
    sums = 0
    do i = 1, plait_store_size(store)
      exact = 0
      do j = 1, count
        d = place_of(j) - places(:, i)
        if (.not. sum(d**2) > 0) cycle
        call yukawa(sqrt(sum(d**2)), g, a, b, c)
        exact = exact - mass_of(j) * a * d
      end do
      sums = sums + [sum((accelerations(:, i) - exact)**2), sum(exact**2)]
    end do
    call plait_system_sum(system, sums)
    call check(sqrt(sums(1) / sums(2)) < 1d-3, "forces by moments are near direct sums")
    call plait_system_free(system)
    call plait_store_free(store)
  end subroutine

  ! ---- neighbours ----

  subroutine list_neighbours(runtime, by_field)
    type(plait_runtime), intent(in) :: runtime
    logical, intent(in) :: by_field
    type(plait_store) :: store
    type(plait_system) :: system
    type(plait_neighbours) :: near
    type(plait_neighbour_lists) :: lists
    real(double), pointer :: masses(:), masses_there(:), places_there(:, :)
    real(c_float), pointer :: reaches_there(:)
    integer(c_int64_t), pointer :: ids(:), ids_there(:)
    real(double) :: its_mass
    integer(c_int64_t) :: id, k
    integer :: i, ierr, expected
    call make_gas(runtime, store)
    call plait_system_create(runtime, store, system)
    call plait_system_add_neighbours(system, near, radius=-1d0, ierr=ierr)
    call check(ierr == PLAIT_BAD_ARGUMENT, "a negative radius is refused")
    if (by_field) then
      call plait_system_add_neighbours(system, near, radius_field=reach, search=PLAIT_SYMMETRIC, travels=[mass, reach])
    else
      call plait_system_add_neighbours(system, near, radius=real(real(reach_of_all, c_float), double), &
                                       travels=[mass, reach])
    end if
    call plait_neighbours_get(near, lists, ierr)
    call check(ierr == PLAIT_BAD_ARGUMENT, "lists before the first step are refused")
    call plait_system_update(system)
    call plait_neighbours_get(near, lists)
    call check(lists%count == plait_store_size(store) .and. size(lists%first) == lists%count + 1, "each has a list")
    call check((lists%imported_count > 0) .eqv. (plait_rank_count(runtime) > 1), "other ranks' particles are imported")
    call check(lists%first(1) == 1 .and. lists%first(lists%count + 1) == size(lists%indices) + 1, "lists count from 1")
    call plait_store_values(store, PLAIT_ID, ids)
    call plait_store_values(store, mass, masses)
    call plait_neighbours_imported_values(near, PLAIT_ID, ids_there)
    call plait_neighbours_imported_values(near, mass, masses_there)
    call plait_neighbours_imported_values(near, PLAIT_POSITION, places_there)
    call check(all(shape(places_there) == [3, lists%imported_count]), "imported values have components first")
    call plait_neighbours_imported_values(near, reach, reaches_there)
    call check(size(reaches_there) == lists%imported_count, "a field of floats travels")
    call plait_neighbours_imported_values(near, density, masses_there, ierr)
    call check(ierr == PLAIT_SUCCESS .eqv. lists%imported_count == 0, "fields that do not travel are refused")
    call plait_neighbours_imported_values(near, mass, masses_there)
    do i = 1, lists%count
      expected = 0
      do id = 1, count
        if (are_near(ids(i), id)) expected = expected + 1
      end do
      call check(lists%first(i + 1) - lists%first(i) == expected, "lists are as long as over all pairs")
      do k = lists%first(i), lists%first(i + 1) - 1
        if (lists%indices(k) <= lists%count) then
          id = ids(lists%indices(k))
          its_mass = masses(lists%indices(k))
        else
          id = ids_there(lists%indices(k) - lists%count)
          its_mass = masses_there(lists%indices(k) - lists%count)
        end if
        call check(are_near(ids(i), id) .and. abs(its_mass - mass_of(id)) < 1d-15, "neighbours are near")
      end do
    end do
    call plait_system_free(system)
    call plait_store_free(store)
  end subroutine

  logical function are_near(a, b)
    integer(c_int64_t), intent(in) :: a, b
    are_near = a /= b .and. sum((place_of(a) - place_of(b))**2) <= real(real(reach_of_all, c_float), double)**2
  end function

  ! ---- shearing boxes ----

  subroutine shear(runtime)
    type(plait_runtime), intent(in) :: runtime
    real(double), parameter :: rate = 0.75d0
    type(plait_store) :: store
    type(plait_system) :: system
    real(double), pointer :: places(:, :), velocities(:, :)
    integer(c_int64_t), pointer :: ids(:)
    real(double) :: place(3), its_velocity(3), rows
    integer :: i, step, ierr
    call make_gas(runtime, store)
    call plait_system_create(runtime, store, system, low=[0d0, 0d0, 0d0], high=[1d0, 1d0, 1d0], &
                             periodic=[.true., .true., .true.], shear_rate=rate, shear_velocity=velocity)
    call plait_system_before(system, "drift", drift)
    do step = 1, 10
      call plait_system_set_time(system, step * time_step)
      call plait_system_step(system)
    end do
    call plait_system_set_time(system, ieee_value(1d0, ieee_quiet_nan), ierr)
    call check(ierr == PLAIT_BAD_ARGUMENT, "a time that is no number is refused")
    call plait_store_values(store, PLAIT_ID, ids)
    call plait_store_values(store, PLAIT_POSITION, places)
    call plait_store_values(store, velocity, velocities)
    do i = 1, plait_store_size(store)
      its_velocity = velocity_of(ids(i))
      place = place_of(ids(i)) + 10 * time_step * its_velocity
      rows = floor(place(1))
      place(1:2) = place(1:2) + rows * [-1d0, rate * 10 * time_step]
      place(2:3) = place(2:3) - floor(place(2:3))
      call check(maxval(abs(places(:, i) - place)) < 1d-12, "particles cross to where their images are")
      call check(abs(velocities(2, i) - its_velocity(2) - rows * rate) < 1d-12, "with the velocities of images")
    end do
    call plait_system_free(system)
    call plait_store_free(store)
  end subroutine

  ! ---- steps ----

  subroutine drift(store, first, last, ierr)
    type(plait_store), intent(in) :: store
    integer, intent(in) :: first, last
    integer, intent(inout) :: ierr
    real(double), pointer :: places(:, :), velocities(:, :)
    call plait_store_values(store, PLAIT_POSITION, places)
    call plait_store_values(store, velocity, velocities)
    places(:, first:last) = places(:, first:last) + time_step * velocities(:, first:last)
    if (first < 1 .or. last > plait_store_size(store)) ierr = PLAIT_BAD_ARGUMENT
  end subroutine

  subroutine count_update(store, ierr)
    type(plait_store), intent(in) :: store
    integer, intent(inout) :: ierr
    updates = updates + 1
    if (plait_store_size(store) > count) ierr = PLAIT_BAD_ARGUMENT
  end subroutine

  !> Free flight: by procedures of the program, and by the leapfrog without forces.
  subroutine fly(runtime, is_leapfrog)
    type(plait_runtime), intent(in) :: runtime
    logical, intent(in) :: is_leapfrog
    type(plait_store) :: store
    type(plait_system) :: system
    real(double), pointer :: places(:, :)
    integer(c_int64_t), pointer :: ids(:)
    integer :: i
    call make_gas(runtime, store)
    call plait_system_create(runtime, store, system, steps_between_decompositions=2, steps_between_trees=1)
    if (is_leapfrog) then
      call plait_system_add_leapfrog(system, velocity, acceleration, time_step)
    else
      call plait_system_after(system, "drift", drift)
    end if
    call plait_system_when_summed(system, count_update)
    call plait_system_distribute(system)
    updates = 0
    call plait_system_update(system)
    do i = 1, steps
      call plait_system_step(system)
    end do
    call check(updates == steps + 1, "a procedure is called once an update")
    call plait_store_values(store, PLAIT_POSITION, places)
    call plait_store_values(store, PLAIT_ID, ids)
    do i = 1, plait_store_size(store)
      call check(maxval(abs(places(:, i) - place_of(ids(i)) - steps * time_step * velocity_of(ids(i)))) < 1d-12, &
                 "particles fly straight on")
    end do
    call plait_system_free(system)
    call plait_store_free(store)
  end subroutine

  subroutine burn(store, first, last, ierr)
    type(plait_store), intent(in) :: store
    integer, intent(in) :: first, last
    integer, intent(inout) :: ierr
    if (first <= last .or. plait_store_size(store) >= 0) call plait_fail("the star has no fuel: add hydrogen", ierr)
  end subroutine

  !> An error on the first rank ends the step on all.
  subroutine end_with_an_error(runtime)
    type(plait_runtime), intent(in) :: runtime
    type(plait_store) :: store
    type(plait_system) :: system
    integer :: ierr
    call make_gas(runtime, store)
    call plait_system_create(runtime, store, system)
    if (plait_rank(runtime) == 0) then
      call plait_system_before(system, "burn", burn)
    else
      call plait_system_before(system, "burn", drift)
    end if
    call plait_system_step(system, ierr)
    call check(ierr == merge(PLAIT_USER_TASK, PLAIT_PEER_FAILED, plait_rank(runtime) == 0), "all ranks get an error")
    call check(index(plait_last_error(), "add hydrogen") > 0, "all ranks get the sentence")
    call plait_system_free(system)
    call plait_store_free(store)
  end subroutine
end module

program particles
  use mpi
  use gas
  implicit none
  type(plait_runtime) :: runtime
  integer :: provided, error
  call MPI_Init_thread(MPI_THREAD_SERIALIZED, provided, error)
  call plait_runtime_create(MPI_COMM_WORLD, runtime, workers=2)
  call use_a_store(runtime)
  call sum_gravity(runtime, with_self=.true., tolerance=1d-11)
  call sum_gravity(runtime, with_self=.false., tolerance=1d-9)
  call sum_short_range(runtime)
  call sum_moments(runtime)
  call list_neighbours(runtime, by_field=.false.)
  call list_neighbours(runtime, by_field=.true.)
  call shear(runtime)
  call fly(runtime, is_leapfrog=.false.)
  call fly(runtime, is_leapfrog=.true.)
  call end_with_an_error(runtime)
  call plait_runtime_free(runtime, error)
  call MPI_Finalize(error)
  if (failures > 0) stop 1
end program
