package fold

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"slices"
	"unicode/utf8"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
)

// This file is the form of messages in a stored fold. Text is kept as it is, so that reading it copies nothing; other
// blocks are kept as their JSON.

const (
	blockText = 't'
	blockJSON = 'j'

	roleUser      = 'u'
	roleAssistant = 'a'
)

// errStored says that bytes are no messages of a stored fold. Nobody sees it: the log is folded instead.
var errStored = errors.New("no messages of a stored fold")

// appendMessage appends a message to a part.
func appendMessage(dst []byte, m *event.Message) (_ []byte, err error) {
	switch m.Role {
	case event.RoleUser:
		dst = append(dst, roleUser)
	case event.RoleAssistant:
		dst = append(dst, roleAssistant)
	default:
		return nil, errStored
	}
	dst = binary.AppendUvarint(dst, uint64(len(m.Content)))
	var scratch []byte
	for _, b := range m.Content {
		if t, ok := b.(*event.Text); ok && t.Signature == "" && utf8.ValidString(t.Text) {
			dst = binary.AppendUvarint(append(dst, blockText), uint64(len(t.Text)))
			dst = append(dst, t.Text...)
			continue
		}
		if scratch, err = event.AppendBlock(scratch[:0], b); err != nil {
			return nil, err
		}
		dst = binary.AppendUvarint(append(dst, blockJSON), uint64(len(scratch)))
		dst = append(dst, scratch...)
	}
	return dst, nil
}

// partReader reads the messages of parts. It makes messages and texts in slabs: a long conversation has many of them.
type partReader struct {
	left   string
	texts  []event.Text
	blocks []event.Block
}

// messages appends the messages of a part. Their texts share the memory of the part.
func (r *partReader) messages(to []event.Message, part string) ([]event.Message, error) {
	r.left = part
	for r.left != "" {
		m := event.Message{Role: event.RoleUser}
		switch r.left[0] {
		case roleUser:
		case roleAssistant:
			m.Role = event.RoleAssistant
		default:
			return nil, errStored
		}
		r.left = r.left[1:]
		n, ok := r.number()
		if !ok || n > len(r.left) { // a block takes bytes
			return nil, errStored
		}
		m.Content = r.room(n)
		for i := range n {
			b, err := r.block()
			if err != nil {
				return nil, err
			}
			m.Content[i] = b
		}
		to = append(to, m)
	}
	return to, nil
}

// slab is how many texts and blocks are made at once.
const slab = 512

// room returns space for the blocks of a message.
func (r *partReader) room(n int) []event.Block {
	if len(r.blocks) < n {
		r.blocks = make([]event.Block, max(n, min(slab, len(r.left)/2)))
	}
	space := r.blocks[:n:n]
	r.blocks = r.blocks[n:]
	return space
}

func (r *partReader) block() (event.Block, error) {
	if r.left == "" {
		return nil, errStored
	}
	kind := r.left[0]
	r.left = r.left[1:]
	n, ok := r.number()
	if !ok || n > len(r.left) {
		return nil, errStored
	}
	raw := r.left[:n]
	r.left = r.left[n:]
	switch kind {
	case blockText:
		if len(r.texts) == 0 {
			r.texts = make([]event.Text, min(slab, 1+len(r.left)/4))
		}
		t := &r.texts[0]
		r.texts = r.texts[1:]
		t.Text = raw
		return t, nil
	case blockJSON:
		return event.DecodeBlock([]byte(raw))
	default:
		return nil, errStored
	}
}

// number reads a number that bounds a length.
func (r *partReader) number() (int, bool) {
	n := uint64(0)
	for i := 0; i < len(r.left) && i < binary.MaxVarintLen64; i++ {
		c := r.left[i]
		if c < 0x80 {
			n |= uint64(c) << (7 * i)
			r.left = r.left[i+1:]
			return int(n), n < 1<<40
		}
		n |= uint64(c&0x7f) << (7 * i)
	}
	return 0, false
}

// chain returns the sum of a part that follows another one. So the sum of the last part stands for all of them, in their
// order and of this conversation.
func chain(before [sha256.Size]byte, conversation string, part []byte) (sum [sha256.Size]byte) {
	h := sha256.New()
	h.Write(before[:])
	h.Write(binary.AppendUvarint(nil, uint64(len(conversation))))
	h.Write([]byte(conversation))
	h.Write(part)
	h.Sum(sum[:0])
	return sum
}

// partBytes is the size from which on a part ends.
const partBytes = 256 << 10

// add appends messages to the parts of a stored fold. It returns the new parts and what they make of k, which it does not
// change.
func (k *kept) add(conversation string, messages []event.Message) (*kept, [][]byte, error) {
	next := &kept{}
	if k != nil {
		*next = *k
	}
	next.messages += len(messages)
	var parts [][]byte
	var part []byte
	end := func() {
		if len(part) > 0 {
			next.sum = chain(next.sum, conversation, part)
			next.parts++
			next.bytes += int64(len(part))
			parts, part = append(parts, part), nil
		}
	}
	var err error
	for i := range messages {
		if part, err = appendMessage(part, &messages[i]); err != nil {
			return nil, nil, err
		}
		next.count(messages[i : i+1])
		if len(part) >= partBytes {
			end()
		}
	}
	end()
	return next, parts, nil
}

// count adds a message to what decisions need of the messages.
func (k *kept) count(one []event.Message) {
	m := &one[0]
	if m.Role == event.RoleAssistant && compactedBy(m.Content) {
		k.tokens = 0
	}
	k.tokens += model.MessagesTokens(one)
	for _, b := range m.Content {
		if s := ServedBy(b); s.Call != "" {
			k.served = append(slices.Clip(k.served), s.Call)
		}
	}
}

// read returns the messages of the parts. ok is false if these are not the parts of k.
func (k *kept) read(conversation string, parts [][]byte) (messages []event.Message, ok bool) {
	if len(parts) < k.parts {
		return nil, false
	}
	var sum [sha256.Size]byte
	var r partReader
	messages = make([]event.Message, 0, min(k.messages, int(k.bytes)))
	for _, part := range parts[:k.parts] {
		sum = chain(sum, conversation, part)
		var err error
		if messages, err = r.messages(messages, string(part)); err != nil {
			return nil, false
		}
	}
	return messages, sum == k.sum && len(messages) == k.messages
}
