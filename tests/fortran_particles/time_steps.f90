! SPDX-License-Identifier: Apache-2.0
!> Steps that particles choose, and stages, on any number of ranks, beside a direct computation for each particle. It
!! prints nothing when all is right.
module swarm
  use, intrinsic :: iso_c_binding
  use plait
  use plait_particles
  use facts
  implicit none
  integer, parameter :: count = 240
  real(double), parameter :: time_begin = 1, time_end = 3, short_step = 0.03125d0, long_step = 0.25d0
  real(double), parameter :: reach_of_all = 0.15d0, softening = 0.2d0
  integer :: mass, velocity, velocity_now, acceleration, potential, reach, near, total, drifted, kicked, settles, pulls
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

  !> Every tenth particle takes short steps; with equal steps, all do.
  recursive real(double) function step_of(id, lengths)
    integer(c_int64_t), intent(in) :: id
    integer, intent(in) :: lengths
    step_of = merge(short_step, long_step, mod(id, 10_c_int64_t) == 0 .or. lengths == PLAIT_EQUAL_STEPS)
  end function

  !> Ranks take particles in turn.
  subroutine make_swarm(runtime, store)
    type(plait_runtime), intent(in) :: runtime
    type(plait_store), intent(out) :: store
    real(double), pointer :: places(:, :), velocities(:, :), now(:, :), masses(:)
    real(c_float), pointer :: reaches(:)
    integer(c_int64_t), pointer :: ids(:)
    integer(c_int8_t), pointer :: kinds(:)
    integer(c_int64_t) :: id
    integer :: at
    call plait_store_create(store)
    call plait_store_add_field(store, "mass", mass)
    call plait_store_add_field(store, "velocity", velocity, components=3)
    call plait_store_add_field(store, "velocity now", velocity_now, components=3)
    call plait_store_add_field(store, "acceleration", acceleration, components=3)
    call plait_store_add_field(store, "potential", potential)
    call plait_store_add_field(store, "reach", reach, element=PLAIT_FLOAT)
    call plait_store_add_field(store, "near", near, element=PLAIT_FLOAT)
    call plait_store_add_field(store, "total", total, element=PLAIT_FLOAT)
    call plait_store_add_field(store, "drifted", drifted)
    call plait_store_add_field(store, "kicked", kicked)
    call plait_store_add_field(store, "settles", settles, element=PLAIT_INT32)
    call plait_store_add_field(store, "pulls", pulls, element=PLAIT_INT32)
    do id = 1 + plait_rank(runtime), count, plait_rank_count(runtime)
      call plait_store_add(store, 1, at)
      call plait_store_values(store, PLAIT_POSITION, places)
      call plait_store_values(store, PLAIT_ID, ids)
      call plait_store_values(store, PLAIT_KIND, kinds)
      call plait_store_values(store, mass, masses)
      call plait_store_values(store, velocity, velocities)
      call plait_store_values(store, velocity_now, now)
      call plait_store_values(store, reach, reaches)
      ids(at) = id
      kinds(at) = int(mod(id, 2_c_int64_t), c_int8_t)
      masses(at) = mass_of(id)
      places(:, at) = place_of(id)
      velocities(:, at) = velocity_of(id)
      now(:, at) = velocity_of(id)
      reaches(at) = real(reach_of_all, c_float)
    end do
  end subroutine

  ! ---- the parts of steps ----

  recursive subroutine limit(store, places, longest, ierr)
    type(plait_store), intent(in) :: store
    integer, intent(in), contiguous :: places(:)
    real(c_double), intent(inout), contiguous :: longest(:)
    integer, intent(inout) :: ierr
    integer(c_int64_t), pointer :: ids(:)
    integer :: k
    call plait_store_values(store, PLAIT_ID, ids)
    do k = 1, size(places)
      longest(k) = min(longest(k), step_of(ids(places(k)), PLAIT_INDIVIDUAL_STEPS))
    end do
    if (size(places) /= size(longest)) ierr = PLAIT_BAD_ARGUMENT
  end subroutine

  recursive subroutine refuse_to_limit(store, places, longest, ierr)
    type(plait_store), intent(in) :: store
    integer, intent(in), contiguous :: places(:)
    real(c_double), intent(inout), contiguous :: longest(:)
    integer, intent(inout) :: ierr
    call limit(store, places, longest, ierr)
    call plait_fail("the star has no fuel: add hydrogen", ierr)
  end subroutine

  !> Pulls towards the origin: then no particle depends on others.
  recursive subroutine pull(store, places, ierr)
    type(plait_store), intent(in) :: store
    integer, intent(in), contiguous :: places(:)
    integer, intent(inout) :: ierr
    real(double), pointer :: positions(:, :), accelerations(:, :)
    call plait_store_values(store, PLAIT_POSITION, positions)
    call plait_store_values(store, acceleration, accelerations)
    accelerations(:, places) = -positions(:, places)
    call count_calls(store, places, ierr)
  end subroutine

  recursive subroutine count_calls(store, places, ierr)
    type(plait_store), intent(in) :: store
    integer, intent(in), contiguous :: places(:)
    integer, intent(inout) :: ierr
    integer(c_int32_t), pointer :: calls(:)
    call plait_store_values(store, pulls, calls)
    calls(places) = calls(places) + 1
    if (size(places) == 0) ierr = PLAIT_BAD_ARGUMENT
  end subroutine

  recursive subroutine drift(store, first, last, duration, ierr)
    type(plait_store), intent(in) :: store
    integer, intent(in) :: first, last
    real(c_double), intent(in) :: duration
    integer, intent(inout) :: ierr
    real(double), pointer :: positions(:, :), velocities(:, :), now(:, :), accelerations(:, :), durations(:)
    call plait_store_values(store, PLAIT_POSITION, positions)
    call plait_store_values(store, velocity, velocities)
    call plait_store_values(store, velocity_now, now)
    call plait_store_values(store, acceleration, accelerations)
    call plait_store_values(store, drifted, durations)
    positions(:, first:last) = positions(:, first:last) + duration * velocities(:, first:last)
    now(:, first:last) = now(:, first:last) + duration * accelerations(:, first:last)
    durations(first:last) = durations(first:last) + duration
    if (first < 1 .or. last > plait_store_size(store)) ierr = PLAIT_BAD_ARGUMENT
  end subroutine

  recursive subroutine kick(store, places, durations, ierr)
    type(plait_store), intent(in) :: store
    integer, intent(in), contiguous :: places(:)
    real(c_double), intent(in), contiguous :: durations(:)
    integer, intent(inout) :: ierr
    real(double), pointer :: velocities(:, :), accelerations(:, :), sums(:)
    integer :: k
    call plait_store_values(store, velocity, velocities)
    call plait_store_values(store, acceleration, accelerations)
    call plait_store_values(store, kicked, sums)
    do k = 1, size(places)
      velocities(:, places(k)) = velocities(:, places(k)) + durations(k) * accelerations(:, places(k))
      sums(places(k)) = sums(places(k)) + durations(k)
    end do
    if (size(places) /= size(durations)) ierr = PLAIT_BAD_ARGUMENT
  end subroutine

  recursive subroutine settle(store, places, durations, ierr)
    type(plait_store), intent(in) :: store
    integer, intent(in), contiguous :: places(:)
    real(c_double), intent(in), contiguous :: durations(:)
    integer, intent(inout) :: ierr
    real(double), pointer :: velocities(:, :), now(:, :)
    integer(c_int32_t), pointer :: calls(:)
    call plait_store_values(store, velocity, velocities)
    call plait_store_values(store, velocity_now, now)
    call plait_store_values(store, settles, calls)
    now(:, places) = velocities(:, places)
    calls(places) = calls(places) + 1
    if (size(places) /= size(durations)) ierr = PLAIT_BAD_ARGUMENT
  end subroutine

  ! ---- one particle at a time ----

  !> A leapfrog in steps of one length, until `time`; the last step may end later.
  subroutine follow(id, length, time, x, v)
    integer(c_int64_t), intent(in) :: id
    real(double), intent(in) :: length, time
    real(double), intent(out) :: x(3), v(3)
    real(double) :: now
    x = place_of(id)
    v = velocity_of(id)
    now = time_begin
    do while (now < time)
      v = v - length / 2 * x
      x = x + min(length, time - now) * v
      if (now + length <= time) v = v - length / 2 * x
      now = now + length
    end do
  end subroutine

  !> Compares at a time at which all are synchronised, and own steps that begin at it have kicked, unless it is the end.
  subroutine compare(store, time, lengths, has_own_parts)
    type(plait_store), intent(in) :: store
    real(double), intent(in) :: time
    integer, intent(in) :: lengths
    logical, intent(in) :: has_own_parts
    real(double), pointer :: positions(:, :), velocities(:, :), now(:, :), drifts(:), kicks(:)
    integer(c_int64_t), pointer :: ids(:)
    integer(c_int32_t), pointer :: ends(:), calls(:)
    real(double) :: x(3), v(3), length
    integer :: i, ended
    call plait_store_values(store, PLAIT_POSITION, positions)
    call plait_store_values(store, PLAIT_ID, ids)
    call plait_store_values(store, velocity, velocities)
    call plait_store_values(store, velocity_now, now)
    call plait_store_values(store, drifted, drifts)
    call plait_store_values(store, kicked, kicks)
    call plait_store_values(store, settles, ends)
    call plait_store_values(store, pulls, calls)
    do i = 1, plait_store_size(store)
      length = step_of(ids(i), lengths)
      ended = floor((time - time_begin) / length)
      call follow(ids(i), length, time, x, v)
      call check(maxval(abs(positions(:, i) - x)) < 1d-13, "positions are those of a leapfrog")
      call check(calls(i) == ended, "a stage is called when a step ends")
      if (time >= time_end) then
        call check(maxval(abs(velocities(:, i) - v)) < 1d-13, "velocities are those of a leapfrog")
        call check(all(abs(now(:, i) - velocities(:, i)) <= 0), "settled velocities are those at the end")
      end if
      if (.not. has_own_parts) cycle
      call check(abs(drifts(i) - (time - time_begin)) <= 0, "drifts have the durations of steps")
      call check(abs(kicks(i) - length * (ended + merge(0d0, 0.5d0, time >= time_end))) <= 0, &
                 "kicks have their durations")
      call check(ends(i) == ended, "each end of a step settles")
    end do
  end subroutine

  ! ---- runs ----

  !> The first update calls procedures as often as it needs them.
  subroutine forget_counts(store)
    type(plait_store), intent(in) :: store
    integer(c_int32_t), pointer :: calls(:)
    call plait_store_values(store, pulls, calls)
    calls = 0
    call plait_store_values(store, settles, calls)
    calls = 0
  end subroutine

  !> Steps to the end, and compares the results of steps with the time that passes.
  subroutine step_to_end(system, lengths)
    type(plait_system), intent(in) :: system
    integer, intent(in) :: lengths
    type(plait_step_result) :: step
    real(double) :: before, begin, length, updated, updated_here, expected
    integer(c_int64_t) :: id
    begin = plait_system_time(system)
    length = 0
    updated = 0
    updated_here = 0
    do while (.not. plait_system_is_over(system))
      before = plait_system_time(system)
      call plait_system_step(system)
      call plait_system_last_step(system, step)
      call check(abs(step%time - plait_system_time(system)) <= 0, "a step ends at the present")
      call check(abs(step%length - (step%time - before)) <= 0 .and. step%length > 0, "a step has its length")
      length = length + step%length
      updated = updated + real(step%updated, double)
      updated_here = updated_here + real(step%updated_here, double)
    end do
    expected = 0
    do id = 1, count
      expected = expected + (time_end - begin) / step_of(id, lengths)
    end do
    call plait_system_sum(system, updated_here)
    call check(abs(length - (time_end - begin)) <= 0, "steps fill the time")
    call check(nint(updated) == nint(expected) .and. nint(updated_here) == nint(expected), "steps count their updates")
  end subroutine

  subroutine oscillate(runtime, lengths, has_own_parts)
    type(plait_runtime), intent(in) :: runtime
    integer, intent(in) :: lengths
    logical, intent(in) :: has_own_parts
    type(plait_store) :: store
    type(plait_system) :: system
    type(plait_step_result) :: step
    call make_swarm(runtime, store)
    call plait_system_create(runtime, store, system)
    call plait_system_add_stage(system, "pull", pull, writes=[acceleration, pulls])
    if (has_own_parts) then
      call plait_system_integrate(system, velocity, drift=drift, kick=kick, settle=settle, &
                                  predicted=[velocity_now, drifted], forces=[acceleration])
    else
      call plait_system_integrate(system, velocity, acceleration, velocity_now)
    end if
    call plait_system_limit_steps_by(system, limit)
    call plait_system_take_steps(system, lengths, begin=time_begin, end=time_end, step_max=1d0, step_min=1d-3)
    call check(abs(plait_system_time(system) - time_begin) <= 0, "a run begins at its time")
    call plait_system_update(system)
    call forget_counts(store)
    call plait_system_last_step(system, step)
    call check(step%updated == 0 .and. .not. step%length > 0, "no step is the last one before the first")
    call plait_system_run_until(system, time_begin + short_step)
    call check(abs(plait_system_time(system) - (time_begin + short_step)) <= 0, "a run steps until a time")
    call plait_system_synchronise(system)
    call compare(store, time_begin + short_step, lengths, has_own_parts)
    call plait_system_run_until(system, 2d0)
    call check(abs(plait_system_time(system) - 2) <= 0 .and. .not. plait_system_is_over(system), "a run goes on")
    call step_to_end(system, lengths)
    call compare(store, time_end, lengths, has_own_parts)
    call plait_system_free(system)
    call plait_store_free(store)
  end subroutine

  ! ---- neighbours ----

  recursive subroutine count_near(block, ierr)
    type(plait_pair_block), intent(in) :: block
    integer, intent(inout) :: ierr
    real(c_float), pointer :: counts(:)
    integer :: i
    call plait_store_values(block%store, near, counts)
    associate (to => block%targets, from => block%sources)
      do i = 1, size(to%x)
        counts(to%places(i)) = counts(to%places(i)) + real(sum(merge(1, 0, sqrt((from%x - to%x(i))**2 + &
          (from%y - to%y(i))**2 + (from%z - to%z(i))**2) < real(reach_of_all, c_float))), c_float)
      end do
    end associate
    if (size(block%sources%values) /= 0) ierr = PLAIT_BAD_ARGUMENT
  end subroutine

  recursive subroutine sum_near(block, ierr)
    type(plait_pair_block), intent(in) :: block
    integer, intent(inout) :: ierr
    real(c_float), pointer :: sums(:)
    integer :: i
    call plait_store_values(block%store, total, sums)
    associate (to => block%targets, from => block%sources)
      do i = 1, size(to%x)
        sums(to%places(i)) = sums(to%places(i)) + sum(from%values(1)%p, mask=sqrt((from%x - to%x(i))**2 + &
          (from%y - to%y(i))**2 + (from%z - to%z(i))**2) < real(reach_of_all, c_float))
      end do
    end associate
    if (size(block%sources%values) /= 1) ierr = PLAIT_BAD_ARGUMENT
  end subroutine

  recursive subroutine mark(store, places, ierr)
    type(plait_store), intent(in) :: store
    integer, intent(in), contiguous :: places(:)
    integer, intent(inout) :: ierr
    real(c_float), pointer :: counts(:)
    call plait_store_values(store, near, counts, ierr)
    counts(places) = counts(places) + 1000
  end subroutine

  logical function are_near(a, b)
    integer(c_int64_t), intent(in) :: a, b
    real(double) :: d(3)
    d = place_of(b) - place_of(a) + (time_end - time_begin) * (velocity_of(b) - velocity_of(a))
    are_near = norm2(d - anint(d)) < reach_of_all
  end function

  !> A stage counts neighbours, the next changes the counts of one kind, and the last sums the counts of neighbours.
  subroutine sum_over_neighbours(runtime, lengths)
    type(plait_runtime), intent(in) :: runtime
    integer, intent(in) :: lengths
    type(plait_store) :: store
    type(plait_system) :: system
    real(c_float), pointer :: counts(:), sums(:)
    integer(c_int64_t), pointer :: ids(:)
    real(double) :: exact(count)
    integer(c_int64_t) :: a, b
    integer :: i
    call make_swarm(runtime, store)
    call plait_system_create(runtime, store, system, low=[0d0, 0d0, 0d0], high=[1d0, 1d0, 1d0], &
                             periodic=[.true., .true., .true.])
    call plait_system_add_pair_stage(system, "count", reach, [near], count_near)
    call plait_system_add_stage(system, "mark", mark, writes=[near], kinds=2_c_int64_t)
    call plait_system_add_pair_stage(system, "sum", reach, [total], sum_near, sources=[near])
    call plait_system_integrate(system, velocity, acceleration)
    call plait_system_limit_steps_by(system, limit)
    call plait_system_take_steps(system, lengths, begin=time_begin, end=time_end)
    call plait_system_run_until(system, time_end)
    do a = 1, count
      exact(a) = merge(1000, 0, mod(a, 2_c_int64_t) == 1)
      do b = 1, count
        if (are_near(a, b)) exact(a) = exact(a) + 1
      end do
    end do
    call plait_store_values(store, PLAIT_ID, ids)
    call plait_store_values(store, near, counts)
    call plait_store_values(store, total, sums)
    do i = 1, plait_store_size(store)
      call check(nint(counts(i)) == nint(exact(ids(i))), "counts are those over all pairs")
      call check(nint(sums(i)) == nint(sum([(merge(exact(b), 0d0, are_near(ids(i), b)), b=1, count)])), &
                 "a stage reads the results of those before, of any rank")
    end do
    call plait_system_free(system)
    call plait_store_free(store)
  end subroutine

  !> Particles of some kinds take shorter steps near those with short ones.
  subroutine limit_by_neighbours(runtime, kinds)
    type(plait_runtime), intent(in) :: runtime
    integer(c_int64_t), intent(in) :: kinds
    type(plait_store) :: store
    type(plait_system) :: system
    integer(c_int64_t), pointer :: ids(:)
    integer(c_int32_t), pointer :: calls(:)
    real(double) :: more
    integer :: i, its
    call make_swarm(runtime, store)
    call plait_system_create(runtime, store, system, cell_reach=reach, limited_kinds=kinds)
    call plait_system_add_stage(system, "count", count_calls, writes=[pulls])
    call plait_system_integrate(system, velocity, acceleration)
    call plait_system_limit_steps_by(system, limit)
    call plait_system_take_steps(system, begin=time_begin, end=time_end)
    call plait_system_update(system)
    call forget_counts(store)
    call plait_system_run_until(system, time_end)
    call plait_store_values(store, PLAIT_ID, ids)
    call plait_store_values(store, pulls, calls)
    more = 0
    do i = 1, plait_store_size(store)
      its = calls(i) - nint((time_end - time_begin) / step_of(ids(i), PLAIT_INDIVIDUAL_STEPS))
      call check(merge(its >= 0, its == 0, btest(kinds, mod(ids(i), 2_c_int64_t))), "limited kinds take more steps")
      more = more + its
    end do
    call plait_system_sum(system, more)
    call check((kinds == 0) .eqv. (nint(more) == 0), "neighbours limit steps")
    call plait_system_free(system)
    call plait_store_free(store)
  end subroutine

  ! ---- long range ----

  !> Bodies in own steps: `x`, `v`, and the acceleration and potential of each.
  subroutine fall(x, v, sums)
    real(double), intent(out) :: x(3, count), v(3, count), sums(4, count)
    real(double) :: r
    integer(c_int64_t) :: i, j
    integer :: number
    do i = 1, count
      x(:, i) = place_of(i)
      v(:, i) = velocity_of(i)
    end do
    do number = 0, nint((time_end - time_begin) / short_step)
      if (number > 0) x = x + short_step * v
      sums = 0
      do i = 1, count
        do j = 1, count
          r = sqrt(sum((x(:, j) - x(:, i))**2) + softening**2)
          sums(1:3, i) = sums(1:3, i) + mass_of(j) / r**3 * (x(:, j) - x(:, i))
          if (i /= j) sums(4, i) = sums(4, i) - mass_of(j) / r
        end do
      end do
      if (number > 0) call half_kick(number)
      if (number < nint((time_end - time_begin) / short_step)) call half_kick(number)
    end do
  contains
    subroutine half_kick(number)
      integer, intent(in) :: number
      real(double) :: length
      integer(c_int64_t) :: k
      do k = 1, count
        length = step_of(k, PLAIT_INDIVIDUAL_STEPS)
        if (modulo(number * short_step, length) <= 0) v(:, k) = v(:, k) + length / 2 * sums(1:3, k)
      end do
    end subroutine
  end subroutine

  !> Bodies that other ranks have sent drift by their velocities.
  subroutine fall_in_own_steps(runtime)
    type(plait_runtime), intent(in) :: runtime
    type(plait_store) :: store
    type(plait_system) :: system
    real(double), pointer :: positions(:, :), velocities(:, :), potentials(:)
    integer(c_int64_t), pointer :: ids(:)
    real(double) :: x(3, count), v(3, count), sums(4, count)
    integer :: i, ierr
    call make_swarm(runtime, store)
    call plait_system_create(runtime, store, system)
    call plait_system_add_long_range(system, mass, acceleration, potential, velocity=mass, ierr=ierr)
    call check(ierr == PLAIT_BAD_ARGUMENT, "a velocity that is one number is refused")
    call plait_system_add_long_range(system, mass, acceleration, potential, theta=0d0, softening=softening, &
                                     velocity=velocity)
    call plait_system_integrate(system, velocity, acceleration)
    call plait_system_limit_steps_by(system, limit)
    call plait_system_take_steps(system, begin=time_begin, end=time_end)
    call plait_system_run_until(system, time_end)
    call plait_system_synchronise(system)
    call fall(x, v, sums)
    call plait_store_values(store, PLAIT_POSITION, positions)
    call plait_store_values(store, PLAIT_ID, ids)
    call plait_store_values(store, velocity, velocities)
    call plait_store_values(store, potential, potentials)
    do i = 1, plait_store_size(store)
      call check(maxval(abs(positions(:, i) - x(:, ids(i)))) < 1d-9, "bodies fall as by direct sums")
      call check(maxval(abs(velocities(:, i) - v(:, ids(i)))) < 1d-9, "with the same velocities")
      call check(abs(potentials(i) - sums(4, ids(i))) < 1d-9, "potentials are those of the present")
    end do
    call plait_system_free(system)
    call plait_store_free(store)
  end subroutine

  ! ---- errors ----

  subroutine refuse_arguments(runtime)
    type(plait_runtime), intent(in) :: runtime
    type(plait_store) :: store
    type(plait_system) :: system
    integer :: ierr
    call make_swarm(runtime, store)
    call plait_system_create(runtime, store, system, cell_reach=mass, ierr=ierr)
    call check(ierr == PLAIT_BAD_ARGUMENT, "a reach of cells that is a double is refused")
    call plait_system_create(runtime, store, system)
    call plait_system_integrate(system, velocity, drift=drift, ierr=ierr)
    call check(ierr == PLAIT_BAD_ARGUMENT, "a drift without a kick is refused")
    call plait_system_integrate(system, velocity, acceleration, settle=settle, ierr=ierr)
    call check(ierr == PLAIT_BAD_ARGUMENT, "settling without a drift is refused")
    call plait_system_integrate(system, velocity, ierr=ierr)
    call check(ierr == PLAIT_BAD_ARGUMENT, "a leapfrog without acceleration is refused")
    call plait_system_add_stage(system, "pull", pull, writes=[99], ierr=ierr)
    call check(ierr == PLAIT_BAD_ARGUMENT, "a stage that writes no field is refused")
    call plait_system_add_pair_stage(system, "count", mass, [near], count_near, ierr=ierr)
    call check(ierr == PLAIT_BAD_ARGUMENT, "a reach that is a double is refused")
    call plait_system_add_pair_stage(system, " ", reach, [near], count_near, ierr=ierr)
    call check(ierr == PLAIT_BAD_ARGUMENT, "a stage without a name is refused")
    call plait_system_take_steps(system, 3, ierr=ierr)
    call check(ierr == PLAIT_BAD_ARGUMENT, "lengths of no kind are refused")
    call plait_system_take_steps(system)
    call plait_system_step(system, ierr)
    call check(ierr == PLAIT_BAD_ARGUMENT .and. index(plait_last_error(), "integrat") > 0, "steps need an integrator")
    call plait_system_free(system)
    call plait_store_free(store)
  end subroutine

  !> A criterion that fails on the first rank ends the run on all.
  subroutine end_with_an_error(runtime)
    type(plait_runtime), intent(in) :: runtime
    type(plait_store) :: store
    type(plait_system) :: system
    integer :: ierr
    call make_swarm(runtime, store)
    call plait_system_create(runtime, store, system)
    call plait_system_integrate(system, velocity, acceleration)
    if (plait_rank(runtime) == 0) then
      call plait_system_limit_steps_by(system, refuse_to_limit)
    else
      call plait_system_limit_steps_by(system, limit)
    end if
    call plait_system_take_steps(system, begin=time_begin, end=time_end)
    call plait_system_run_until(system, time_end, ierr)
    call check(ierr == merge(PLAIT_USER_TASK, PLAIT_PEER_FAILED, plait_rank(runtime) == 0), "all ranks get an error")
    call check(index(plait_last_error(), "add hydrogen") > 0, "all ranks get the sentence")
    call plait_system_free(system)
    call plait_store_free(store)
  end subroutine
end module

program time_steps
  use mpi
  use swarm
  implicit none
  type(plait_runtime) :: runtime
  integer :: provided, error
  call MPI_Init_thread(MPI_THREAD_SERIALIZED, provided, error)
  call plait_runtime_create(MPI_COMM_WORLD, runtime, workers=2)
  call refuse_arguments(runtime)
  call oscillate(runtime, PLAIT_INDIVIDUAL_STEPS, has_own_parts=.false.)
  call oscillate(runtime, PLAIT_INDIVIDUAL_STEPS, has_own_parts=.true.)
  call oscillate(runtime, PLAIT_EQUAL_STEPS, has_own_parts=.false.)
  call oscillate(runtime, PLAIT_EQUAL_STEPS, has_own_parts=.true.)
  call sum_over_neighbours(runtime, PLAIT_INDIVIDUAL_STEPS)
  call sum_over_neighbours(runtime, PLAIT_EQUAL_STEPS)
  call limit_by_neighbours(runtime, 0_c_int64_t)
  call limit_by_neighbours(runtime, 1_c_int64_t)
  call limit_by_neighbours(runtime, 2_c_int64_t)
  call fall_in_own_steps(runtime)
  call end_with_an_error(runtime)
  call plait_runtime_free(runtime, error)
  call MPI_Finalize(error)
  if (failures > 0) stop 1
end program
