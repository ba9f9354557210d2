package sim

// NewPlan expands a seed to a plan.
func NewPlan(seed uint64) *Plan { panic("not built yet") }

// Run plays a plan from beginning to end, or to the first broken invariant.
func Run(plan *Plan, options Options) *Result { panic("not built yet") }
