! SPDX-License-Identifier: Apache-2.0
!> steps.h in Fortran.
module nbody_steps
  use, intrinsic :: iso_c_binding
  use mpi
  use plait
  use plait_particles
  implicit none
  private
  public :: nbody_fortran_seconds
contains

  subroutine gravity(block, ierr)
    type(plait_tree_block), intent(in) :: block
    integer, intent(inout) :: ierr
    associate (bodies => block%near_bodies, cells => block%cells)
      call pull(block, bodies%x, bodies%y, bodies%z, bodies%charge)
      call pull(block, cells%x, cells%y, cells%z, cells%charge)
    end associate
    ierr = 0
  end subroutine

  !> A loop over contiguous arguments is vectorised; gfortran does so less well with pointers.
  subroutine pull(block, xs, ys, zs, ms)
    type(plait_tree_block), intent(in) :: block
    real(c_float), intent(in), contiguous :: xs(:), ys(:), zs(:), ms(:)
    real(c_float) :: x, y, z, dx, dy, dz, r, mr3, ax, ay, az, p, softening2
    integer :: i, j
    softening2 = real(block%softening2, c_float)
    do i = 1, size(block%near_x)
      x = block%near_x(i); y = block%near_y(i); z = block%near_z(i)
      ax = 0; ay = 0; az = 0; p = 0
      do j = 1, size(xs)
        dx = xs(j) - x
        dy = ys(j) - y
        dz = zs(j) - z
        r = 1 / sqrt(dx * dx + dy * dy + dz * dz + softening2)
        mr3 = ms(j) * r * r * r
        ax = ax + mr3 * dx
        ay = ay + mr3 * dy
        az = az + mr3 * dz
        p = p - ms(j) * r
      end do
      block%sums(:, i) = block%sums(:, i) + [ax, ay, az, p]
    end do
  end subroutine

  subroutine add_sphere(store, mass, count)
    type(plait_store), intent(in) :: store
    integer, intent(in) :: mass, count
    real(c_double), pointer :: position(:, :), m(:)
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

  !> An error of plait ends the program.
  real(c_double) function nbody_fortran_seconds(communicator, count, steps) bind(C)
    integer(c_int), value :: communicator, count, steps
    type(plait_runtime) :: runtime
    type(plait_store) :: store
    type(plait_system) :: system
    real(c_double) :: start
    integer :: mass, velocity, acceleration, potential, step, error
    call plait_runtime_create(communicator, runtime, trace_folder="")
    call plait_store_create(store)
    call plait_store_add_field(store, "mass", mass)
    call plait_store_add_field(store, "velocity", velocity, components=3)
    call plait_store_add_field(store, "acceleration", acceleration, components=3)
    call plait_store_add_field(store, "potential", potential)
    if (plait_rank(runtime) == 0) call add_sphere(store, mass, count)
    call plait_system_create(runtime, store, system)
    call plait_system_add_long_range(system, mass, acceleration, potential, kernel=gravity, softening=1d0 / 32, &
                                     order=PLAIT_MONOPOLE, precision=PLAIT_MIXED)
    call plait_system_add_leapfrog(system, velocity, acceleration, time_step=1d0 / 128)
    call plait_system_update(system)
    call MPI_Barrier(communicator, error)
    start = MPI_Wtime()
    do step = 1, steps
      call plait_system_step(system)
    end do
    call MPI_Barrier(communicator, error)
    nbody_fortran_seconds = (MPI_Wtime() - start) / steps
    call plait_system_free(system)
    call plait_store_free(store)
    call plait_runtime_free(runtime)
  end function
end module
