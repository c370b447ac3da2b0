package demo

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/braidrun/braid/internal/lazyre"
)

// findArithmetic finds a calculation in a user's message: signs ("(2+3)*4", "３×５"), infix words ("twelve times 7",
// "3足す5") and requests ("subtract 3 from 10", "10から3を引いて"), in English and Japanese. It returns nil if there is none,
// and for long texts.
func findArithmetic(text string) *expression {
	if len(text) > 2000 || !utf8.ValidString(text) {
		return nil
	}
	text = normalize(text)
	if strange.MatchString(text) {
		return nil
	}
	if e := findInfix(infixWords(text)); e != nil {
		return e
	}
	if e := findEnglishRequest(text); e != nil {
		return e
	}
	return findJapaneseRequest(text)
}

// normalize rewrites a text with plain letters, digits and signs.
func normalize(text string) string {
	text = strings.Map(func(r rune) rune {
		switch {
		case r >= 0xff01 && r <= 0xff5e: // full-width forms
			r -= 0xfee0
		case r == 0x3000:
			r = ' '
		}
		switch r {
		case '×', '✕', '✖', '∗', '⋅':
			return '*'
		case '÷':
			return '/'
		case '−', '–', '—':
			return '-'
		case '$', '€', '£', '¥', '円':
			return -1
		}
		return r
	}, text)
	text = strings.ReplaceAll(strings.ToLower(text), "**", "^")
	text = thousands.ReplaceAllStringFunc(text, func(s string) string { return strings.ReplaceAll(s, ",", "") })
	text = kanjiNumber.ReplaceAllStringFunc(text, kanjiDigits)
	return englishNumbers(text)
}

var (
	thousands = lazyre.New(`\b\d{1,3}(?:,\d{3})+\b`)
	// strange matches signs that look like arithmetic but have another meaning, such as dates.
	strange = lazyre.New(`[a-z]\(|\d\s*!\s*[-+*/^]|[√π²³°]|%\s*[-+*/^\d]|` +
		`\b\d{4}[-/]\d{1,2}[-/]\d{1,2}\b|\b\d{1,2}/\d{1,2}/\d{4}\b|\b0\d+-\d+-\d+`)
)

// The words between two numbers, in the order in which they are replaced.
var infix = []struct {
	words *lazyre.Regexp
	signs string
}{
	{lazyre.New(`(\d+(?:\.\d+)?)\s*(?:%|percent)\s+of\s+(\d+(?:\.\d+)?)`), "$1 / 100 * $2"},
	{lazyre.New(`(\d+(?:\.\d+)?)の(\d+(?:\.\d+)?)\s*(?:%|パーセント)`), "$1 * $2 / 100"},
	{lazyre.New(`(\d+(?:\.\d+)?)の(\d+)乗`), "$1 ^ $2"},
	{lazyre.New(`(\d+(?:\.\d+)?)の(\d+(?:\.\d+)?)倍`), "$1 * $2"},
	{lazyre.New(`\b(?:multiplied by|times)\b`), " * "},
	{lazyre.New(`\bdivided by\b`), " / "},
	{lazyre.New(`\bto the power(?: of)?\b`), " ^ "},
	{lazyre.New(`(\d)\s+squared\b`), "$1 ^ 2"},
	{lazyre.New(`(\d)\s+cubed\b`), "$1 ^ 3"},
	{lazyre.New(`\bplus\b|足す|たす|プラス`), " + "},
	{lazyre.New(`\bminus\b|引く|ひく|マイナス`), " - "},
	{lazyre.New(`掛ける|かける`), " * "},
	{lazyre.New(`割る|わる`), " / "},
	{lazyre.New(`(\d)\s*x\s*(\d)`), "$1 * $2"},
	{lazyre.New(`(\d)\s*x\s*(\d)`), "$1 * $2"}, // once more, because matches overlap in 2x3x4
}

func infixWords(text string) string {
	for _, w := range infix {
		text = w.words.ReplaceAllString(text, w.signs)
	}
	return text
}

var token = lazyre.New(`\d+(?:\.\d+)?|\.\d+|[a-z_]+[a-z0-9_]*|[-+*/^()]|\s+|.`)

const maxTokens = 48

// findInfix returns the longest part of a text that is an expression with a sign between two numbers.
func findInfix(text string) *expression {
	var best *expression
	longest := 0
	var run []string
	end := func() {
		if len(run) >= 3 && len(run) <= maxTokens {
			if e, n := longestExpression(run); n > longest {
				best, longest = e, n
			}
		}
		run = nil
	}
	tokens := token.FindAllString(text, -1)
	for i, t := range tokens {
		switch {
		case strings.TrimSpace(t) == "":
		case t[0] >= '0' && t[0] <= '9', t[0] == '.' && len(t) > 1:
			// Skip digits in a word: "v1", "3rd", "1.2.3".
			if i+1 < len(tokens) && (isWord(tokens[i+1]) || tokens[i+1][0] == '.' && len(tokens[i+1]) > 1) {
				end()
				continue
			}
			if n := len(run); n > 0 && isNumber(run[n-1]) {
				end()
			}
			if t[0] == '.' {
				t = "0" + t
			}
			run = append(run, t)
		case len(t) == 1 && strings.IndexByte("+-*/^()", t[0]) >= 0:
			if n := len(run); t == "(" && n > 0 && (isNumber(run[n-1]) || run[n-1] == ")") {
				run = append(run, "*") // 2(3+4)
			}
			run = append(run, t)
		default:
			end()
		}
	}
	end()
	return best
}

func isWord(t string) bool { return t[0] >= 'a' && t[0] <= 'z' || t[0] == '_' }

func longestExpression(run []string) (*expression, int) {
	for n := len(run); n >= 3; n-- {
		for from := 0; from+n <= len(run); from++ {
			if e := parseExpression(run[from : from+n]); e != nil && e.left != nil {
				return e, n
			}
		}
	}
	return nil, 0
}

var (
	then    = lazyre.New(`,?\s*\b(?:and then|then|and (?:after that|afterwards))\b,?`)
	andVerb = lazyre.New(`,?\s*\band\s+(add|subtract|multiply|divide)\b`)
	verb    = lazyre.New(`\b(add|adding|added|sum|total|together|subtract|subtracting|take away|difference|` +
		`multiply|multiplying|product|divide|dividing|quotient)\b`)
	number   = lazyre.New(`(^|[^a-z0-9_.])(-?\d+(?:\.\d+)?)(?:[^a-z0-9_]|$)`)
	verbSign = map[string]byte{
		"add": '+', "adding": '+', "added": '+', "sum": '+', "total": '+', "together": '+',
		"subtract": '-', "subtracting": '-', "take away": '-', "difference": '-',
		"multiply": '*', "multiplying": '*', "product": '*',
		"divide": '/', "dividing": '/', "quotient": '/',
	}
)

// findEnglishRequest parses requests such as "add 3, 4 and 5, then multiply by 2".
func findEnglishRequest(text string) *expression {
	text = andVerb.ReplaceAllString(text, " then $1")
	var acc *expression
	for _, step := range then.Split(text, 10) {
		v := verb.FindString(step)
		if v == "" {
			if acc != nil {
				return nil
			}
			continue
		}
		nums := numbersIn(step)
		sign := verbSign[v]
		swap := sign == '-' && strings.Contains(step, " from ") || sign == '/' && strings.Contains(step, " into ")
		if acc == nil {
			if len(nums) < 2 {
				return nil
			}
			if swap || v == "difference" && risesIn(nums) {
				slices.Reverse(nums)
			}
			acc, nums = &expression{number: nums[0]}, nums[1:]
		} else if len(nums) == 0 || swap && !strings.Contains(step, "from it") && !strings.Contains(step, "from the") {
			return nil
		}
		for _, n := range nums {
			acc = &expression{sign: sign, left: acc, right: &expression{number: n}}
		}
	}
	return acc
}

func numbersIn(s string) []string {
	var out []string
	for s != "" {
		m := number.FindStringSubmatchIndex(s)
		if m == nil {
			break
		}
		out = append(out, s[m[4]:m[5]])
		s = s[m[5]:]
		if len(out) > 20 {
			return nil
		}
	}
	return out
}

var japanese = lazyre.New(`(\d+(?:\.\d+)?)\s*(から|で)?|足|たし|加え|合計|合わせ|和|引|ひい|差|掛|かけ|乗じ|積|割|わっ|商`)

func stemSign(stem string) byte {
	switch stem {
	case "足", "たし", "加え", "合計", "合わせ", "和":
		return '+'
	case "引", "ひい", "差":
		return '-'
	case "掛", "かけ", "乗じ", "積":
		return '*'
	default:
		return '/'
	}
}

// findJapaneseRequest parses requests such as 「3と5を足して2を掛けて」: numbers, then the operation.
func findJapaneseRequest(text string) *expression {
	if languageOf(text) != "ja" {
		return nil
	}
	var acc *expression
	var nums []string
	for _, m := range japanese.FindAllStringSubmatch(text, 40) {
		if m[1] != "" {
			switch m[2] {
			case "から": // what to subtract from
				nums = append([]string{m[1]}, nums...)
			default: // 4で12を割る: で marks the divisor in any position
				nums = append(nums, m[1]+m[2])
			}
			continue
		}
		sign := stemSign(m[0])
		if sign == '/' {
			slices.SortStableFunc(nums, func(a, b string) int {
				return boolInt(strings.HasSuffix(a, "で")) - boolInt(strings.HasSuffix(b, "で"))
			})
		}
		for i := range nums {
			nums[i] = strings.TrimSuffix(nums[i], "で")
		}
		if m[0] == "差" && risesIn(nums) {
			slices.Reverse(nums)
		}
		if acc == nil {
			if len(nums) < 2 {
				return nil
			}
			acc, nums = &expression{number: nums[0]}, nums[1:]
		}
		for _, n := range nums {
			acc = &expression{sign: sign, left: acc, right: &expression{number: n}}
		}
		nums = nil
	}
	return acc
}

// risesIn reports whether the second of two numbers is the larger one. The difference between 3 and 10 is 10 - 3.
func risesIn(nums []string) bool {
	if len(nums) != 2 {
		return false
	}
	a, errA := strconv.ParseFloat(nums[0], 64)
	b, errB := strconv.ParseFloat(nums[1], 64)
	return errA == nil && errB == nil && a < b
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// kanjiNumber matches Japanese numerals next to a word of a calculation. Numerals alone occur in too many other
// words.
var kanjiNumber = lazyre.New(`[〇零一二三四五六七八九十百千]+(?:[とにをのでか+*/\-足引掛割た]|$)`)

func kanjiDigits(s string) string {
	r, size := utf8.DecodeLastRuneInString(s)
	rest := ""
	if !strings.ContainsRune("〇零一二三四五六七八九十百千", r) {
		s, rest = s[:len(s)-size], string(r)
	}
	total, digit, plain := 0, -1, true
	var digits strings.Builder
	for _, r := range s {
		if d := strings.IndexRune("〇一二三四五六七八九", r); d >= 0 || r == '零' {
			digit = max(d, 0) / len("一")
			digits.WriteString(strconv.Itoa(digit))
			continue
		}
		plain = false
		unit := map[rune]int{'十': 10, '百': 100, '千': 1000}[r]
		if digit < 0 {
			digit = 1
		}
		total += digit * unit
		digit = -1
	}
	if plain {
		return digits.String() + rest
	}
	return strconv.Itoa(total+max(digit, 0)) + rest
}

var small = map[string]int{
	"zero": 0, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9,
	"ten": 10, "eleven": 11, "twelve": 12, "thirteen": 13, "fourteen": 14, "fifteen": 15, "sixteen": 16,
	"seventeen": 17, "eighteen": 18, "nineteen": 19,
}

var tens = map[string]int{
	"twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90,
}

var numeral = func() *lazyre.Regexp {
	one := `(?:zero|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|seventeen|eighteen|nineteen)`
	ten := `(?:twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety)`
	below := `(?:` + ten + `(?:[- ]` + one + `)?|` + one + `)`
	return lazyre.New(`\b` + below + `(?: hundred(?: (?:and )?` + below + `)?)?(?: thousand)?\b`)
}()

// englishNumbers replaces number words by digits: "twenty-one" by 21.
func englishNumbers(text string) string {
	return numeral.ReplaceAllStringFunc(text, func(s string) string {
		n := 0
		for _, w := range strings.FieldsFunc(s, func(r rune) bool { return r == ' ' || r == '-' }) {
			switch {
			case w == "hundred":
				n *= 100
			case w == "thousand":
				n *= 1000
			case tens[w] > 0:
				n += tens[w]
			default:
				n += small[w]
			}
		}
		return strconv.Itoa(n)
	})
}
