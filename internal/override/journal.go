package override

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"

	"github.com/limitgate/limitgate"
)

// Keys are numbers by zone and key.
type Keys map[string]map[string]*Numbers

// Put puts numbers in the place of those of a key; nil takes them away. The maps of zones are replaced, not written: who reads one
// may go on.
func (k Keys) Put(zone, key string, n *Numbers) {
	next := make(map[string]*Numbers, len(k[zone])+1)
	for name, other := range k[zone] {
		next[name] = other
	}
	if next[key] = n; n == nil {
		delete(next, key)
	}
	k[zone] = next
}

// Forget takes away what holds no longer at now. Maps of zones are replaced here, too.
func (k Keys) Forget(now limitgate.Time) {
	for zone, list := range k {
		for key, n := range list {
			if n.Over(now) {
				k.Put(zone, key, nil)
			}
		}
	}
}

// Journal is a file in which numbers of keys outlive the process: a line for each change, the last of a key counts. It is written
// through one open file, because a process that has given up its rights can't open it again.
type Journal struct {
	mu   sync.Mutex // guards file
	file *os.File
}

// entry is a line.
type entry struct {
	Zone    string   `json:"zone"`
	Key     []byte   `json:"key"`
	Numbers *Numbers `json:"numbers,omitempty"` // nil: taken back
}

// OpenJournal reads a journal, if there is one, and writes it anew with what holds at now: what is over is left out, and so is a last
// line that was not finished. The new one takes the old one's place when all of it is on the disk.
func OpenJournal(path string, now limitgate.Time) (*Journal, Keys, error) {
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, fmt.Errorf("reading the numbers of keys: %w", err)
	}
	keys := Keys{}
	for line := range bytes.Lines(text) {
		var e entry
		if !bytes.HasSuffix(line, []byte("\n")) || json.Unmarshal(line, &e) != nil {
			continue
		}
		if e.Numbers != nil && (e.Numbers.Check() != nil || e.Numbers.Over(now)) {
			e.Numbers = nil
		}
		keys.Put(e.Zone, string(e.Key), e.Numbers)
	}
	j, err := writeJournal(path, keys)
	if err != nil {
		return nil, nil, fmt.Errorf("writing the numbers of keys: %w", err)
	}
	return j, keys, nil
}

// writeJournal writes a journal beside the one that is there, and puts it in its place.
func writeJournal(path string, keys Keys) (*Journal, error) {
	next := path + ".new"
	f, err := os.OpenFile(next, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, err
	}
	var text []byte
	for zone, list := range keys {
		for key, n := range list {
			line, e := json.Marshal(entry{zone, []byte(key), n})
			text, err = append(append(text, line...), '\n'), errors.Join(err, e)
		}
	}
	if err == nil {
		_, err = f.Write(text)
	}
	if err == nil {
		err = f.Sync()
	}
	if err == nil {
		err = os.Rename(next, path)
	}
	if err != nil {
		f.Close()
		return nil, errors.Join(err, os.Remove(next))
	}
	return &Journal{file: f}, nil
}

// Put notes a change, and returns when it is on the disk.
func (j *Journal) Put(zone, key string, n *Numbers) error {
	line, err := json.Marshal(entry{zone, []byte(key), n})
	if err != nil {
		return fmt.Errorf("writing the numbers of a key: %w", err)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	end, err := j.file.Seek(0, 2)
	if err == nil {
		_, err = j.file.WriteAt(append(line, '\n'), end)
	}
	if err == nil {
		err = j.file.Sync()
	}
	if err != nil {
		return fmt.Errorf("writing the numbers of a key: %w", err)
	}
	return nil
}

// Close closes the file.
func (j *Journal) Close() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.file.Close()
}
