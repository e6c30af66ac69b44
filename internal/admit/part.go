package admit

import "encoding/binary"

// A key of several parts has each behind its length, so that different parts never make the same key. Who asks the keys of the parts
// goes on from Room to Part for each, and ends with Whole. They take no function: a closure would be made for each key.

// lengthBytes is how much of a key the length of a part takes.
const lengthBytes = 4

// Room appends to a key the room for the length of its next part.
func Room(key []byte) []byte { return append(key, 0, 0, 0, 0) }

// Part ends a part that was appended to what Room gave. with may be shorter than that, or nil: the part is empty.
func Part(room, with []byte) []byte {
	at := len(room)
	if len(with) < at {
		with = room
	}
	binary.BigEndian.PutUint32(with[at-lengthBytes:], uint32(len(with)-at))
	return with
}

// Whole is the key behind start, or what stood before it where each of its parts is empty.
func Whole(key []byte, start, parts int) []byte {
	if len(key) == start+parts*lengthBytes {
		return key[:start]
	}
	return key
}
