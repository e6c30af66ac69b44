package conf

// Table returns all that is known about directives, grouped as in the reference. It is built afresh for each caller.
func Table() []Spec {
	var all []Spec
	for _, g := range Groups() {
		all = append(all, g.Specs...)
	}
	return all
}

// Group is a chapter of the reference.
type Group struct {
	Title string
	Specs []Spec
}

// Groups returns the table by chapters.
func Groups() []Group {
	return []Group{
		{"Process and events", mainSpecs()},
	}
}
