package daemon

import (
	"fmt"
	"os/user"
	"strconv"
)

// identity is who serves requests when the process was started by root.
type identity struct {
	uid, gid int
	groups   []int
}

// lookupUser finds the user of a `user` directive; group may be empty. Its errors are nginx's words.
func lookupUser(name, group string) (identity, error) {
	u, err := user.Lookup(name)
	if err != nil {
		return identity{}, fmt.Errorf("getpwnam(%q) failed", name) //nolint:errorlint // nginx's words are the whole message
	}
	var id identity
	if id.uid, err = strconv.Atoi(u.Uid); err != nil {
		return id, fmt.Errorf("reading the number of user %q: %w", name, err)
	}
	gid := u.Gid
	switch {
	case group != "":
		g, err := user.LookupGroup(group)
		if err != nil {
			return id, fmt.Errorf("getgrnam(%q) failed", group) //nolint:errorlint // as above
		}
		gid = g.Gid
	default:
		// nginx takes the group of the user's name, and that is nearly always the user's own.
		if g, err := user.LookupGroup(name); err == nil {
			gid = g.Gid
		}
	}
	if id.gid, err = strconv.Atoi(gid); err != nil {
		return id, fmt.Errorf("reading the number of group %q: %w", gid, err)
	}
	groups, err := u.GroupIds()
	if err != nil {
		groups = nil // then the one group must do
	}
	id.groups = []int{id.gid}
	for _, g := range groups {
		if n, err := strconv.Atoi(g); err == nil && n != id.gid {
			id.groups = append(id.groups, n)
		}
	}
	return id, nil
}
