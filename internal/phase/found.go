package phase

import "github.com/limitgate/limitgate/internal/found"

// Founds is a Zones that keeps, beside the zones, the limits that were found for their keys.
type Founds interface {
	// Found gives those of a zone: the same in every program of a process, as long as the zone lives.
	Found(zone string) *found.Table
}

// Found gives the limits found for the keys of a zone. Zones that keep none have some for each configuration.
func (e *Env) Found(zone string) *found.Table {
	if f, ok := e.Zones.(Founds); ok {
		return f.Found(zone)
	}
	if e.founds == nil {
		e.founds = map[string]*found.Table{}
	}
	if e.founds[zone] == nil {
		e.founds[zone] = found.New()
	}
	return e.founds[zone]
}
