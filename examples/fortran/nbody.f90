! SPDX-License-Identifier: Apache-2.0
! ranks: 1 2 3
! expected: 15_nbody.expected
! needs: plait::fortran-particles
!> Gravity among the particles of a cold sphere, which begins to collapse: a tree code, with a kernel in Fortran.
module stars
  use, intrinsic :: iso_c_binding
  use plait_particles
  implicit none
  integer, parameter :: double = kind(1d0), count = 1024
  real(double), parameter :: softening = 1d0 / 32
  integer :: mass, velocity, acceleration, potential
contains
  !> Any worker calls it, with some targets, and the bodies and cells of the tree that act on them.
  subroutine gravity(block, ierr)
    type(plait_tree_block), intent(in) :: block
    integer, intent(inout) :: ierr
    call pull(block, block%near_bodies%x, block%near_bodies%y, block%near_bodies%z, block%near_bodies%charge)
    call pull(block, block%cells%x, block%cells%y, block%cells%z, block%cells%charge)
    ierr = 0
  end subroutine

  !> A loop over contiguous arguments is vectorised; gfortran does so less well with pointers.
  subroutine pull(block, xs, ys, zs, ms)
    type(plait_tree_block), intent(in) :: block
    real(c_float), intent(in), contiguous :: xs(:), ys(:), zs(:), ms(:)
    real(c_float) :: dx, dy, dz, r, mr3, ax, ay, az, p
    integer :: i, j
    do i = 1, size(block%near_x)
      ax = 0; ay = 0; az = 0; p = 0
      do j = 1, size(xs)
        dx = xs(j) - block%near_x(i)
        dy = ys(j) - block%near_y(i)
        dz = zs(j) - block%near_z(i)
        r = 1 / sqrt(dx * dx + dy * dy + dz * dz + real(block%softening2, c_float))
        mr3 = ms(j) * r * r * r
        ax = ax + mr3 * dx; ay = ay + mr3 * dy; az = az + mr3 * dz
        p = p - ms(j) * r
      end do
      block%sums(:, i) = block%sums(:, i) + [ax, ay, az, p]
    end do
  end subroutine

  !> Adds a homogeneous sphere of radius 3 and mass 1, at rest.
  subroutine add_sphere(store)
    type(plait_store), intent(in) :: store
    real(double), pointer :: position(:, :), m(:)
    integer(c_int64_t), pointer :: id(:)
    integer(c_int64_t) :: random
    integer :: i, axis
    call plait_store_add(store, count)
    call plait_store_values(store, PLAIT_POSITION, position)
    call plait_store_values(store, PLAIT_ID, id)
    call plait_store_values(store, mass, m)
    random = 1
    do i = 1, count
      do
        do axis = 1, 3
          random = mod(random * 1664525 + 1013904223, 4294967296_c_int64_t)
          position(axis, i) = 6 * (random / 4294967296d0) - 3
        end do
        if (sum(position(:, i)**2) < 9) exit
      end do
      id(i) = i
      m(i) = 1d0 / count
    end do
  end subroutine

  !> Of all ranks. The potential of each particle at its own centre, which the kernel has added, does not count.
  function energy_and_size(system, store) result(sums)
    type(plait_system), intent(in) :: system
    type(plait_store), intent(in) :: store
    real(double) :: sums(2)
    real(double), pointer :: m(:), p(:), v(:, :), position(:, :)
    call plait_store_values(store, mass, m)
    call plait_store_values(store, potential, p)
    call plait_store_values(store, velocity, v)
    call plait_store_values(store, PLAIT_POSITION, position)
    sums = [sum(m * (sum(v**2, 1) + p + m / softening)) / 2, sum(m * sum(position**2, 1))]
    call plait_system_sum(system, sums)
  end function
end module

program nbody
  use mpi
  use plait
  use stars
  implicit none
  type(plait_runtime) :: runtime
  type(plait_store) :: store
  type(plait_system) :: system
  real(double) :: before(2), after(2)
  integer :: provided, error, step
  call MPI_Init_thread(MPI_THREAD_SERIALIZED, provided, error)
  call plait_runtime_create(MPI_COMM_WORLD, runtime)
  call plait_store_create(store)
  call plait_store_add_field(store, "mass", mass)
  call plait_store_add_field(store, "velocity", velocity, components=3)
  call plait_store_add_field(store, "acceleration", acceleration, components=3)
  call plait_store_add_field(store, "potential", potential)
  if (plait_rank(runtime) == 0) call add_sphere(store)  ! the update sends particles to their ranks
  call plait_system_create(runtime, store, system)
  call plait_system_add_long_range(system, mass, acceleration, potential, kernel=gravity, softening=softening, &
                                   order=PLAIT_MONOPOLE, precision=PLAIT_MIXED)
  call plait_system_add_leapfrog(system, velocity, acceleration, time_step=1d0 / 128)
  call plait_system_update(system)
  before = energy_and_size(system, store)
  do step = 1, 256
    call plait_system_step(system)
  end do
  after = energy_and_size(system, store)
  if (plait_rank(runtime) == 0) print "(2a, /, a, f5.3)", "energy kept within 1e-4: ", &
    merge("yes", "no ", abs(after(1) / before(1) - 1) < 1d-4), "radius: ", sqrt(5 * after(2) / 3)
  call plait_system_free(system)
  call plait_store_free(store)
  call plait_runtime_free(runtime)
  call MPI_Finalize(error)
end program
