// Package attachment checks files that come with a user's message and makes the message's blocks of them.
//
//	block, err := attachment.New("report.pdf", "", data)
//	if err != nil { … }
//	result, err := agent.Run(ctx, "Sum this up.", braid.Attach(block))
//
// [New] decides by the bytes what a file is: an image, a PDF document, an Office document or a text. A declared type
// must fit the bytes. [Check] does the same for a block that somebody else made. Sound and film come by reference.
//
// Whether a model can read an attachment is for the model to say; see [github.com/braidrun/braid.Agent.Reads].
package attachment
