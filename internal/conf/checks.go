package conf

import (
	"fmt"
	"strings"
)

// A check reads the arguments of one directive and reports what is wrong with them. Each maker below is for one kind of
// argument; the table names them.
type check = func(*checker, *Directive)

func checkFlag(c *checker, d *Directive)    { d.Flag(c.errs) }
func checkSize(c *checker, d *Directive)    { d.Size(c.errs, 0) }
func checkOffset(c *checker, d *Directive)  { d.Offset(c.errs, 0) }
func checkMillis(c *checker, d *Directive)  { d.Duration(c.errs, 0) }
func checkSeconds(c *checker, d *Directive) { d.Seconds(c.errs, 0) }
func checkNumber(c *checker, d *Directive)  { d.Int(c.errs, 0) }

// numberIn checks for a number between two bounds; high below zero means there is none.
func numberIn(low, high int64) check {
	return func(c *checker, d *Directive) {
		n, ok := d.Int(c.errs, 0)
		switch {
		case !ok:
		case high < 0 && n < low:
			c.errs.Add(d.At(0), fmt.Sprintf("value must be equal to or greater than %d", low), "")
		case high >= 0 && (n < low || n > high):
			c.errs.Add(d.At(0), fmt.Sprintf("value must be between %d and %d", low, high), "")
		}
	}
}

// oneOf checks for one of some words, in any case.
func oneOf(words ...string) check {
	return func(c *checker, d *Directive) {
		for _, w := range words {
			if strings.EqualFold(w, d.Arg(0)) {
				return
			}
		}
		c.errs.Add(d.At(0), `invalid value "`+d.Arg(0)+`"`, "it is one of: "+strings.Join(words, ", "))
	}
}

// optional checks a value that is there.
func optional(then check) check {
	return func(c *checker, d *Directive) {
		if len(d.Args) > 0 {
			then(c, d)
		}
	}
}

// unlessVariable lets a value with variables pass: it is known only with a request.
func unlessVariable(then check) check {
	return func(c *checker, d *Directive) {
		if !hasVariable(d.Arg(0)) {
			then(c, d)
		}
	}
}

// read makes a check of a reader that returns a struct.
func read[T any](reader func(*Directive, *Errors) (T, bool)) check {
	return func(c *checker, d *Directive) { reader(d, c.errs) }
}

// buffers checks a number and a size, both above zero.
func checkBuffers(c *checker, d *Directive) {
	n, ok := ParseInt(d.Arg(0))
	bytes, valid := ParseSize(d.Arg(1))
	if !ok || n == 0 || !valid || bytes == 0 {
		c.errs.Add(d.Pos, `"`+d.Name+`" directive invalid value`, "write a number and a size, for example 4 8k")
	}
}

// variable checks that argument i is the name of a variable.
func variable(i int) check {
	return func(c *checker, d *Directive) { c.variableName(d, i) }
}

func (c *checker) variableName(d *Directive, i int) bool {
	if strings.HasPrefix(d.Arg(i), "$") {
		return true
	}
	c.errs.Add(d.At(i), `invalid variable name "`+d.Arg(i)+`"`, `a variable starts with "$"`)
	return false
}

// checkLevels checks the levels of folders of a temp path: together they take no more than the ten digits of a file's name.
func checkLevels(c *checker, d *Directive) {
	digits := int64(0)
	for i := 1; i < len(d.Args); i++ {
		n, ok := ParseInt(d.Arg(i))
		if digits += n; !ok || n == 0 || n > 10 || digits > 10 {
			c.errs.Add(d.At(i), `"`+d.Name+`" directive invalid value`, "a level is the length of a folder's name; all levels are 10 together at most: 1 2")
			return
		}
	}
}
