package attachment

import (
	"bytes"
	"image"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"
)

// heads read the head of an image.
var heads = map[string]func(io.Reader) (image.Config, error){
	"image/png": png.DecodeConfig, "image/jpeg": jpeg.DecodeConfig, "image/gif": gif.DecodeConfig,
}

// checkImage refuses an image whose head cannot be read. It decodes no pixels.
func checkImage(name, kind string, data []byte) error {
	head := heads[kind]
	if head == nil {
		return nil
	}
	size, err := head(bytes.NewReader(data))
	if err != nil || size.Width <= 0 || size.Height <= 0 {
		return invalid(name, "is a damaged image", "send the whole file as it is")
	}
	return nil
}
