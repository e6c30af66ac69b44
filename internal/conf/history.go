package conf

import "strings"

// History is a history directive: where configurations that became active are kept, and how many.
type History struct {
	Folder string // "" for off
	Keep   int
}

// HistoryKeep is how many configurations are kept where nothing says so.
const HistoryKeep = 20

// maxHistory is how many may be kept.
const maxHistory = 1000

// ReadHistory reads a history directive.
func ReadHistory(d *Directive, errs *Errors) (History, bool) {
	h := History{Folder: d.Arg(0), Keep: HistoryKeep}
	if h.Folder == "off" && len(d.Args) == 1 {
		return History{}, true
	}
	if strings.HasPrefix(h.Folder, "keep=") || h.Folder == "off" || h.Folder == "" {
		errs.Add(d.At(0), `invalid value "`+h.Folder+`" in "`+d.Name+`" directive`, d.usage())
		return h, false
	}
	if len(d.Args) > 1 {
		value, found := strings.CutPrefix(d.Arg(1), "keep=")
		if !found {
			badParameter(d, d.Args[1], errs)
			return h, false
		}
		n, ok := ParseInt(value)
		if !ok || n < 2 || n > maxHistory {
			errs.Add(d.At(1), `invalid keep "`+d.Arg(1)+`"`, "2 to 1000 configurations are kept, for example keep=20")
			return h, false
		}
		h.Keep = int(n)
	}
	return h, true
}
