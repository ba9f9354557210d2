package quorum

import "fmt"

// quiet is the engine's logger: it drops what the engine tells, because the
// core does not print, and lets its panics through to guard.
type quiet struct{}

func (quiet) Debug(...any)            {}
func (quiet) Debugf(string, ...any)   {}
func (quiet) Error(...any)            {}
func (quiet) Errorf(string, ...any)   {}
func (quiet) Info(...any)             {}
func (quiet) Infof(string, ...any)    {}
func (quiet) Warning(...any)          {}
func (quiet) Warningf(string, ...any) {}

func (quiet) Fatal(v ...any)               { panic(fmt.Sprint(v...)) }
func (quiet) Fatalf(form string, v ...any) { panic(fmt.Sprintf(form, v...)) }
func (quiet) Panic(v ...any)               { panic(fmt.Sprint(v...)) }
func (quiet) Panicf(form string, v ...any) { panic(fmt.Sprintf(form, v...)) }
