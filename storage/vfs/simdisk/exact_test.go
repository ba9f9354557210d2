package simdisk_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/core/chance"
	"github.com/tamarack-mq/tamarack/storage/vfs"
	"github.com/tamarack-mq/tamarack/storage/vfs/simdisk"
)

// busy is a disk with much that is not synced.
func busy(t *testing.T, seed uint64) *simdisk.Disk {
	r := chance.New(seed)
	d := simdisk.New()
	require.NoError(t, d.Mkdir("logs"))
	names := []string{"logs/a", "logs/b", "c"}
	var files []vfs.File
	for range 60 {
		switch name := names[r.Below(3)]; r.Below(9) {
		case 0:
			f, err := d.Create(name)
			require.NoError(t, err)
			files = append(files, f)
		case 1:
			_ = d.Remove(name)
		case 2:
			if to := names[r.Below(2)]; name != "c" {
				_ = d.Rename(name, to)
			}
		case 3:
			require.NoError(t, d.SyncDir([]string{"", "logs"}[r.Below(2)]))
		default:
			if len(files) == 0 {
				continue
			}
			f := files[r.Below(int64(len(files)))]
			size, _ := f.Size()
			switch r.Below(4) {
			case 0:
				require.NoError(t, f.Sync())
			case 1:
				require.NoError(t, f.Truncate(r.Between(0, size)))
			default:
				_, err := f.WriteAt([]byte(strings.Repeat("x", int(r.Between(1, 9000)))), r.Between(0, size))
				require.NoError(t, err)
			}
		}
	}
	return d
}

// everything is what leaves all that was not synced as processes saw it.
func everything(d *simdisk.Disk) (left []simdisk.Left) {
	for _, l := range d.Loose() {
		left = append(left, simdisk.Left{Path: l.Path, Names: strings.Repeat("+", l.Names), Pages: strings.Repeat("+", l.Pages), Size: l.Seen})
	}
	return left
}

func TestAPowerCutThatLeavesEverythingChangesNothing(t *testing.T) {
	for seed := range uint64(300) {
		d := busy(t, seed)
		before := d.Digest()
		require.Zero(t, d.CrashTo(everything(d)))
		require.Equal(t, before, d.Digest(), "seed %d", seed)
		require.Empty(t, d.Loose(), "seed %d", seed)
	}
}

func TestAPowerCutIsWhatItWasSaidToBe(t *testing.T) {
	for seed := range uint64(300) {
		r, d := chance.New(seed+1000), busy(t, seed)
		left := everything(d)
		for i := range left {
			left[i].Names = scatter(r, left[i].Names, "+-")
			left[i].Pages = scatter(r, left[i].Pages, "+-~?")
			left[i].Size -= left[i].Size * r.Below(3) / 2
		}
		twin := d.Clone()
		require.Zero(t, d.CrashTo(left))
		require.Zero(t, twin.CrashTo(left))
		require.Equal(t, d.Digest(), twin.Digest(), "seed %d", seed)
		used := d.Used()
		d.Crash(r) // all is durable now: nothing more can be lost
		require.Equal(t, twin.Digest(), d.Digest(), "seed %d", seed)
		require.Equal(t, used, d.Used(), "seed %d", seed)
	}
}

func scatter(r *chance.Stream, s, letters string) string {
	b := []byte(s)
	for i := range b {
		b[i] = letters[r.Below(int64(len(letters)))]
	}
	return string(b)
}

// A file is written, renamed over another and nothing is synced but the first
// content: each subset of the names is a disk of its own.
func TestEachSubsetOfNamesCanBeLeft(t *testing.T) {
	write := func(d *simdisk.Disk, name, text string) {
		f, err := d.Create(name)
		require.NoError(t, err)
		_, err = f.WriteAt([]byte(text), 0)
		require.NoError(t, err)
		require.NoError(t, f.Sync())
	}
	outcome := func(names string) string {
		d := simdisk.New()
		write(d, "it", "old")
		require.NoError(t, d.SyncDir(""))
		write(d, "it.new", "new")
		require.NoError(t, d.Rename("it.new", "it"))
		require.Equal(t, []simdisk.Loose{{Path: "/", Names: 2}}, d.Loose())
		require.Zero(t, d.CrashTo([]simdisk.Left{{Path: "/", Names: names}}))
		var b strings.Builder
		list, err := d.ReadDir("")
		require.NoError(t, err)
		for _, e := range list {
			f, err := d.Open(e.Name)
			require.NoError(t, err)
			text := make([]byte, e.Size)
			_, err = f.ReadAt(text, 0)
			require.NoError(t, err)
			b.WriteString(e.Name + "=" + string(text) + " ")
		}
		return b.String()
	}
	require.Equal(t, "it=old ", outcome("--"))
	require.Equal(t, "it=old it.new=new ", outcome("+-"))
	require.Equal(t, "it=new ", outcome("-+"))
	require.Equal(t, "it=new ", outcome("++"))
}

func TestACrashComesAtExactlyOneOperationOfAllLives(t *testing.T) {
	d := simdisk.New()
	f, err := d.Create("it") // 1
	require.NoError(t, err)
	d.CrashAt(4, 3)
	_, err = f.WriteAt([]byte("abcdef"), 0) // 2
	require.NoError(t, err)
	d.Kill()
	f, err = d.Open("it")
	require.NoError(t, err)
	require.NoError(t, f.Sync()) // 3
	require.False(t, d.CrashedAt())
	n, err := f.WriteAt([]byte("ghijkl"), 6) // 4
	require.ErrorIs(t, err, simdisk.ErrCrashed)
	require.Equal(t, 3, n)
	require.True(t, d.CrashedAt())
	require.Equal(t, []simdisk.Loose{{Path: "/", Names: 1}, {Path: "it", Pages: 1, Durable: 6, Seen: 9}}, d.Loose())
	require.Equal(t, 1, d.CrashTo([]simdisk.Left{{Path: "/", Names: "+"}, {Path: "it", Pages: "+", Size: 9}, {Path: "nothing", Pages: "+"}}))
	list, err := d.ReadDir("")
	require.NoError(t, err)
	require.Equal(t, []vfs.Entry{{Name: "it", Size: 9}}, list)
}

func TestACrashCanWaitForARename(t *testing.T) {
	d := simdisk.New()
	d.CrashInside(simdisk.OpRename, 1, chance.New(1))
	_, err := d.Create("it")
	require.NoError(t, err)
	require.NoError(t, d.SyncDir(""))
	require.False(t, d.Crashed())
	require.ErrorIs(t, d.Rename("it", "that"), simdisk.ErrCrashed)
	require.True(t, d.Crashed())
}
