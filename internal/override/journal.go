package override

import (
	"bytes"
	"encoding/json"
	"fmt"
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

// OpenJournal opens a journal, or makes it, and reads what holds at now. What is over is left out when it is written anew, and so is
// a last line that was not finished.
func OpenJournal(path string, now limitgate.Time) (*Journal, Keys, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, nil, fmt.Errorf("opening the numbers of keys: %w", err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		f.Close()
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
	j := &Journal{file: f}
	if err := f.Truncate(0); err != nil {
		f.Close()
		return nil, nil, fmt.Errorf("writing the numbers of keys: %w", err)
	}
	for zone, list := range keys {
		for key, n := range list {
			if err := j.Put(zone, key, n); err != nil {
				f.Close()
				return nil, nil, err
			}
		}
	}
	return j, keys, nil
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
