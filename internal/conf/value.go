package conf

import "time"

// The readers below return the value of one argument and whether it is valid; a fault is reported with nginx's words.

// Flag reads argument 0 as on or off.
func (d *Directive) Flag(errs *Errors) (on, ok bool) {
	switch text := d.Arg(0); {
	case equalFold(text, "on"):
		return true, true
	case equalFold(text, "off"):
		return false, true
	default:
		errs.Add(d.At(0), `invalid value "`+text+`" in "`+d.Name+`" directive, it must be "on" or "off"`, "")
		return false, false
	}
}

// Size reads argument i as a number of bytes with k or m.
func (d *Directive) Size(errs *Errors, i int) (int64, bool) {
	n, ok := ParseSize(d.Arg(i))
	if !ok {
		errs.Add(d.At(i), `"`+d.Name+`" directive invalid value`, "a size is a whole number of bytes, or of 1024 or 1024² with k or m: 8k, 1m")
	}
	return n, ok
}

// Offset reads argument i as a number of bytes with k, m or g.
func (d *Directive) Offset(errs *Errors, i int) (int64, bool) {
	n, ok := ParseOffset(d.Arg(i))
	if !ok {
		errs.Add(d.At(i), `"`+d.Name+`" directive invalid value`, "a size is a whole number of bytes, or with k, m or g: 512k, 10m, 1g")
	}
	return n, ok
}

// Duration reads argument i as a time to the millisecond.
func (d *Directive) Duration(errs *Errors, i int) (time.Duration, bool) {
	t, ok := ParseDuration(d.Arg(i))
	if !ok {
		errs.Add(d.At(i), `"`+d.Name+`" directive invalid value`, "a time is a whole number of seconds or a sum such as 1h 30m, 10s, 250ms")
	}
	return t, ok
}

// Seconds reads argument i as a time in whole seconds, which may also have y and M.
func (d *Directive) Seconds(errs *Errors, i int) (time.Duration, bool) {
	t, ok := ParseSeconds(d.Arg(i))
	if !ok {
		errs.Add(d.At(i), `"`+d.Name+`" directive invalid value`, "a time is a whole number of seconds or a sum such as 1h 30m, 10s; ms are too fine here")
	}
	return t, ok
}

// Int reads argument i as a whole number that is not negative.
func (d *Directive) Int(errs *Errors, i int) (int64, bool) {
	n, ok := ParseInt(d.Arg(i))
	if !ok {
		errs.Add(d.At(i), `"`+d.Name+`" directive invalid number`, "a whole number is expected")
	}
	return n, ok
}
