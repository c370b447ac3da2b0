package service

import (
	"strings"
	"unicode/utf8"
)

// These are the bounds of texts that callers choose.
const (
	maxUser          = 1024
	maxTitle         = 200
	maxMetadata      = 32
	maxMetadataKey   = 64
	maxMetadataValue = 1024
)

func checkTitle(op, title string) error {
	if !utf8.ValidString(title) || utf8.RuneCountInString(title) > maxTitle {
		return invalid(op, "the title is too long or not UTF-8", "send at most 200 characters of UTF-8")
	}
	return nil
}

func checkUser(op, user string) error {
	if user == "" || len(user) > maxUser || !utf8.ValidString(user) || strings.ContainsRune(user, 0) {
		return invalid(op, "the user is empty, too long or not UTF-8", "send 1 to 1024 bytes of UTF-8")
	}
	return nil
}

func checkMetadata(op string, m map[string]string) error {
	if len(m) > maxMetadata {
		return invalid(op, "there is too much metadata", "send at most 32 entries")
	}
	for k, v := range m {
		switch {
		case k == "" || len(k) > maxMetadataKey || !utf8.ValidString(k) || len(v) > maxMetadataValue || !utf8.ValidString(v):
			return invalid(op, "a metadata entry is too long or not UTF-8", "send keys of 1 to 64 and values of at most 1024 bytes of UTF-8")
		case isReserved(k):
			return invalid(op, "metadata keys that begin with \"braid.\" are reserved", "choose another key")
		}
	}
	return nil
}
