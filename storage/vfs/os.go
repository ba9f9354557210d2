package vfs

// OS returns the file system below a folder of this machine, which it makes if
// needed.
func OS(dir string) (FS, error) { panic("not built yet") }
