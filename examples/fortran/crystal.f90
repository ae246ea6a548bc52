! SPDX-License-Identifier: Apache-2.0
! ranks: 1 2 3
! expected: fortran/crystal.expected
! needs: plait::fortran-particles
!> The energy of a crystal of argon: Lennard-Jones pairs by neighbour lists, over the atoms of all ranks. Units: the
!! depth of the potential, and the distance at which it is 0.
program crystal
  use, intrinsic :: iso_c_binding
  use mpi
  use plait
  use plait_particles
  implicit none
  integer, parameter :: double = kind(1d0), cells = 6
  real(double), parameter :: edge = 1.5424d0, box = cells * edge, cutoff = 2.5d0  ! of the face-centred cubic cell
  real(double), parameter :: corners(3, 4) = reshape([0d0, 0d0, 0d0, 0.5d0, 0.5d0, 0d0, 0.5d0, 0d0, 0.5d0, &
                                                      0d0, 0.5d0, 0.5d0], [3, 4])
  type(plait_runtime) :: runtime
  type(plait_store) :: store
  type(plait_system) :: system
  type(plait_neighbours) :: neighbours
  type(plait_neighbour_lists) :: lists
  real(double), pointer :: own(:, :), imported(:, :)
  real(double) :: sums(3), d(3), square
  integer :: provided, error, i, atom
  integer(c_int64_t) :: k

  call MPI_Init_thread(MPI_THREAD_SERIALIZED, provided, error)
  call plait_runtime_create(MPI_COMM_WORLD, runtime)
  call plait_store_create(store)
  call add_atoms()
  call plait_system_create(runtime, store, system, low=[0d0, 0d0, 0d0], high=[box, box, box], &
                           periodic=[.true., .true., .true.])
  call plait_system_add_neighbours(system, neighbours, radius=cutoff)
  call plait_system_update(system)

  call plait_neighbours_get(neighbours, lists)
  call plait_store_values(store, PLAIT_POSITION, own)
  call plait_neighbours_imported_values(neighbours, PLAIT_POSITION, imported)
  sums = [real(lists%count, double), 0d0, 0d0]  ! atoms, nearest neighbours, energies
  do i = 1, lists%count
    do k = lists%first(i), lists%first(i + 1) - 1
      atom = lists%indices(k)
      if (atom <= lists%count) then
        d = own(:, atom) - own(:, i)
      else
        d = imported(:, atom - lists%count) - own(:, i)
      end if
      d = d - box * anint(d / box)
      square = sum(d**2)
      if (square < 0.6d0 * edge**2) sums(2) = sums(2) + 1
      sums(3) = sums(3) + 2 * (square**(-6) - square**(-3))  ! half of a pair
    end do
  end do
  call plait_system_sum(system, sums)
  if (plait_rank(runtime) == 0) then
    write (*, "(a, i0)") "atoms: ", nint(sums(1))
    write (*, "(a, i0)") "nearest neighbours of each: ", nint(sums(2) / sums(1))
    write (*, "(a, f7.4)") "energy of each: ", sums(3) / sums(1)
  end if
  call plait_system_free(system)
  call plait_store_free(store)
  call plait_runtime_free(runtime)
  call MPI_Finalize(error)

contains

  !> All of them on rank 0; the first update sends them to their ranks.
  subroutine add_atoms()
    real(double), pointer :: places(:, :)
    integer(c_int64_t), pointer :: ids(:)
    integer :: x, y, z, corner, at
    if (plait_rank(runtime) /= 0) return
    call plait_store_add(store, 4 * cells**3)
    call plait_store_values(store, PLAIT_POSITION, places)
    call plait_store_values(store, PLAIT_ID, ids)
    at = 0
    do x = 0, cells - 1
      do y = 0, cells - 1
        do z = 0, cells - 1
          do corner = 1, 4
            at = at + 1
            ids(at) = at
            places(:, at) = edge * ([x, y, z] + corners(:, corner) + 0.25d0)
          end do
        end do
      end do
    end do
  end subroutine
end program
