// Package planted holds bugs on purpose: a build with the tag "planted" has the
// one that a test asks for, so that the checker can be seen to find it. In every
// other build nothing of it is left.
package planted
