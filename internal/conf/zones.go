package conf

// zoneSet holds the zones declared and used so far.
type zoneSet struct{}

type port struct{}

// finish checks what can be checked only when all was read.
func (c *checker) finish(*Scope) {}

// closed checks a block when its end was read.
func (c *checker) closed(*Directive) {}
