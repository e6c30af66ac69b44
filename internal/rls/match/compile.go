package match

import (
	"fmt"
	"strings"

	"github.com/limitgate/limitgate/internal/rls/config"
)

// compiler builds a table and notes what is wrong.
type compiler struct {
	table *Table
	errs  config.Errors
}

// Compile makes a table of files. Two files may name one domain only if merge is set. A table comes only with no errors.
func Compile(files []*config.File, merge bool) (*Table, config.Errors) {
	c := &compiler{table: &Table{domains: map[string]*node{}}}
	for _, f := range files {
		root := c.table.domains[f.Domain]
		if root != nil && !merge {
			c.fail(f.Pos, config.DuplicateDomain, "put both into one file, or set MERGE_DOMAIN_CONFIG=true", "domain %q is in %s too", f.Domain, root.pos.File)
			continue
		}
		if root == nil {
			root = &node{pos: f.Pos, below: map[string]*node{}}
			c.table.domains[f.Domain] = root
		}
		c.add(root, f.Domain, f.Domain, f.Descriptors)
	}
	if len(c.errs) > 0 {
		return nil, c.errs
	}
	return c.table, nil
}

func (c *compiler) fail(pos config.Pos, code config.Code, help, format string, args ...any) {
	c.errs = append(c.errs, &config.Error{Pos: pos, Code: code, Text: fmt.Sprintf(format, args...), Help: help})
}

// add puts descriptors below a node.
func (c *compiler) add(at *node, domain, path string, list []config.Descriptor) {
	for i := range list {
		d := &list[i]
		if d.Key == "" {
			c.fail(d.Pos, config.EmptyKey, "write key: and the key of an entry", "a descriptor has no key")
			continue
		}
		final := d.Final()
		if other := at.below[final]; other != nil {
			c.fail(d.Pos, config.DuplicateRule, "take one of them out", "%q is here for the second time: the first is %s (key and value are compared joined by an underscore)", path+"."+final, other.pos)
			continue
		}
		stars := strings.Contains(final, "*")
		if d.ShareThreshold && !stars {
			c.fail(d.Pos, config.ShareWithoutStar, "write a value with a * in it, or take it out", "share_threshold is for patterns, and %q has no *", final)
			continue
		}
		n := &node{pos: d.Pos, below: map[string]*node{}, toMetric: d.ValueToMetric, sharing: d.ShareThreshold}
		if d.Limit != nil {
			n.rule = c.rule(d, domain, path+"."+final)
		}
		at.below[final] = n
		if stars {
			n.wildcard = final
			at.patterns = append(at.patterns, pattern{strings.Split(final, "*"), n})
		}
		c.add(n, domain, path+"."+final, d.Descriptors)
	}
}

// rule makes the rule of a descriptor.
func (c *compiler) rule(d *config.Descriptor, domain, path string) *Rule {
	r := &Rule{
		Pos: d.Limit.Pos, Index: len(c.table.Rules), Domain: domain, Path: path,
		Limit: *d.Limit, Window: d.Limit.Window(), Replaces: d.Limit.Replaces,
		Shadow: d.Shadow, Quota: d.Quota, Detailed: d.Detailed, Metadata: d.Metadata,
		leaf: len(d.Descriptors) == 0,
	}
	c.table.Rules = append(c.table.Rules, r)
	return r
}
