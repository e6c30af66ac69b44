package conf

// Merge says how a directive of an outer scope acts on the scopes inside it.
type Merge uint8

// The merge rules. nginx has no directive that adds to an inherited list, so there is none here.
const (
	// Override: inner scopes inherit it unless they have it themselves.
	Override Merge = iota
	// List: as Override, for what may be given several times; one in the inner scope replaces all of the outer one.
	List
	// Own: it acts only where it stands.
	Own
	// Handler: it acts where it stands and in if and limit_except blocks there, not in locations inside.
	Handler
)

// Status says how far limitgate has a directive.
type Status uint8

// The states of support.
const (
	// Here: it does what its text says.
	Here Status = iota
	// Accepted: it is read and checked and has no effect, because it cannot change what a request gets. There is one
	// notice for each name.
	Accepted
	// Silent: as Accepted, without a notice.
	Silent
	// Missing: a directive of nginx that limitgate does not have; an error.
	Missing
)

// Any is the Max of a directive that takes any number of arguments.
const Any = -1

// Spec is what is known about one directive. One name may have several, for different contexts.
type Spec struct {
	Name     string
	Contexts Context
	Min, Max int     // the number of arguments; Max may be Any
	Opens    Context // the kind of block it opens; 0 for none. An if opens the kind that fits its scope.
	Merge    Merge
	Repeat   bool // it may stand several times in one scope
	Status   Status
	Beyond   bool   // nginx has no directive of this name
	Usage    string // its arguments, for the reference
	Default  string // what holds without it, for the reference
	Doc      string // one paragraph: what it does, units, ranges. For Missing: what leaving it out changes

	check func(*checker, *Directive) // of its arguments; nil accepts all
}

// Form returns how the directive is written.
func (s *Spec) Form() string {
	form := s.Name
	if s.Usage != "" {
		form += " " + s.Usage
	}
	if s.Opens != 0 {
		return form + " { … }"
	}
	return form + ";"
}

// usage returns a line of help that shows how the directive is written.
func (d *Directive) usage() string {
	if d.Spec == nil || d.Spec.Usage == "" {
		return ""
	}
	return "usage: " + d.Spec.Form()
}
