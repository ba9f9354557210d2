package main

import "syscall"

// dieWithUs has the kernel kill a child whose parent is gone, however it went.
func dieWithUs() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
