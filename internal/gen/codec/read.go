package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// pkg is what the generator knows of package event.
type pkg struct {
	// durable, live and blocks are in the order of their files and declarations, and bodies are
	// the durable ones and then the live ones.
	durable, live, blocks, bodies []*object
	// parts are the structs inside bodies and blocks, in the order in which they are met.
	parts []*object
	// words are the named string types.
	words map[string]bool
	// structs are all structs, by name.
	structs map[string]*object
}

// object is a struct that is written as a JSON object.
type object struct {
	name string
	// kind is its name in JSON; "" for a part.
	kind                string
	block               bool
	live, final, erased bool
	fields              []field
}

type field struct {
	name string
	// typ is the type as the source writes it.
	typ string
	// key is "" for a field that has none of its own.
	key string
	// opt says that a zero value is left out.
	opt      bool
	redacted string
}

// read parses the package without its tests and without the generated file. It looks at the syntax
// alone: the package does not compile where the generated file is missing or old.
func read(folder string) (*pkg, error) {
	files, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		return nil, err
	}
	p := &pkg{words: map[string]bool{}, structs: map[string]*object{}}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") || filepath.Base(file) == output {
			continue
		}
		if err := p.readFile(file); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
	}
	p.bodies = slices.Concat(p.durable, p.live)
	for _, o := range slices.Concat(p.bodies, p.blocks) {
		p.findParts(o)
	}
	return p, nil
}

func (p *pkg) readFile(path string) error {
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	for _, decl := range file.Decls {
		group, ok := decl.(*ast.GenDecl)
		if !ok || group.Tok != token.TYPE {
			continue
		}
		for _, spec := range group.Specs {
			s := spec.(*ast.TypeSpec)
			switch typ := s.Type.(type) {
			case *ast.Ident:
				p.words[s.Name.Name] = typ.Name == "string"
			case *ast.StructType:
				if err := p.readStruct(s.Name.Name, group.Doc, typ); err != nil {
					return fmt.Errorf("%s: %w", s.Name.Name, err)
				}
			}
		}
	}
	return nil
}

func (p *pkg) readStruct(name string, doc *ast.CommentGroup, s *ast.StructType) error {
	o := &object{name: name}
	p.structs[name] = o
	if err := o.readFields(s); err != nil {
		return err
	}
	if doc == nil {
		return nil
	}
	for _, line := range doc.List {
		if err := p.declare(o, line.Text); err != nil {
			return err
		}
	}
	return nil
}

// declare reads a line of a struct's comment, which may be a directive.
func (p *pkg) declare(o *object, line string) error {
	directive, rest, _ := strings.Cut(line, " ")
	words := strings.Fields(rest)
	if directive != "//event:body" && directive != "//event:block" {
		return nil
	}
	o.block = directive == "//event:block"
	if len(words) == 0 || o.block && len(words) > 1 {
		return fmt.Errorf("%q: want a kind, and words for a body alone", line)
	}
	o.kind = words[0]
	for _, word := range words[1:] {
		switch word {
		case "live":
			o.live = true
		case "final":
			o.final = true
		case "erased":
			o.erased = true
		default:
			return fmt.Errorf("%q: unknown word %q", line, word)
		}
	}
	switch {
	case o.block:
		p.blocks = append(p.blocks, o)
	case o.live:
		p.live = append(p.live, o)
	default:
		p.durable = append(p.durable, o)
	}
	return nil
}

func (o *object) readFields(s *ast.StructType) error {
	for _, f := range s.Fields.List {
		var tag reflect.StructTag
		if f.Tag != nil {
			text, err := strconv.Unquote(f.Tag.Value)
			if err != nil {
				return err
			}
			tag = reflect.StructTag(text)
		}
		key, option, _ := strings.Cut(tag.Get("json"), ",")
		if key == "-" {
			continue
		}
		typ := types.ExprString(f.Type)
		name := typ // of an embedded field
		for _, n := range f.Names {
			name = n.Name
		}
		if len(f.Names) != 1 {
			key = "" // not one of its own
		}
		if option == "omitzero" && strings.HasPrefix(typ, "[]") {
			typ += ",omitzero" // an empty list is not the same as nil
		}
		o.fields = append(o.fields, field{name: name, typ: typ, key: key, opt: option != "", redacted: tag.Get("redacted")})
	}
	return nil
}

// findParts notes the structs inside o.
func (p *pkg) findParts(o *object) {
	for _, f := range o.fields {
		part := p.part(f.typ)
		if _, known := forms[f.typ]; known || part == nil || slices.Contains(p.parts, part) {
			continue
		}
		p.parts = append(p.parts, part)
		p.findParts(part)
	}
}

// part is the struct that a type is made of; nil where there is none.
func (p *pkg) part(typ string) *object {
	return p.structs[strings.TrimPrefix(strings.TrimPrefix(typ, "[]"), "*")]
}
