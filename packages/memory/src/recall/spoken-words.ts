import { piece, plainOf, termsOf, word } from '../items/search-terms.ts'

/** The words of a text that carry its meaning. */
export interface SpokenWords {
  /** Each word once, without function words, in the forms that count as the same. */
  readonly words: readonly (readonly string[])[]
  /** Of scripts without spaces: pairs of neighbouring characters, or a single one; each once. */
  readonly pairs: readonly string[]
  readonly isNegated: boolean
}

const list = (words: string): ReadonlySet<string> => new Set(words.trim().split(/\s+/))

/** Function words of other languages than English, whose stop words are those of the search. */
const functionWords = list(`
  der die das des dem den ein eine einer eines einem einen und oder aber ist sind war waren bin bist sei hat haben habe hatte
  hatten wird werden wurde ich mich mir mein meine meiner meines meinem meinen du dich dir dein deine deiner deinem deinen er
  sie es ihn ihm ihr ihre ihrer ihrem ihren ihres sein seine seiner seinem seinen seines wir uns unser unsere unserer unserem
  unseren man sich zu zum zur im in am an auf aus bei beim mit nach von vom vor fur uber unter dass als auch noch schon wie
  le la les un une des du de et ou mais est sont etait suis sommes ai as avons ont avait je j me moi mon ma mes tu te toi ton
  ta tes il elle on nous vous ils elles son sa ses notre nos votre vos leur leurs lui se ce c cet cette ces qui que qu dans en
  au aux sur sous chez par pour avec l y el los las una unos unas o pero era soy eres esta estan he ha han yo mi mis tus su
  sus nuestro nuestra nuestros nuestras al del con por para le lo`)

/** Names of the speaker in a note, and verbs that only report. */
const speakerWords = list(`
  user users client customer person speaker human say says said state states stated mention mentions mentioned tell tells told
  ask asks asked want wants remember note
  nutzer nutzers nutzerin benutzer benutzers benutzerin anwender kunde kundin sagt sagte will mochte
  utilisateur utilisatrice cliente dit veut usuario usuaria dice quiere`)
const speakerRuns = /ユーザー?|利用者|用户|用戶|使用者/gu

const negations = list(`
  not no never none nor neither without nothing nowhere hardly
  nicht kein keine keinen keinem keiner keines nie niemals ohne weder nichts niemand nirgends
  ne n pas jamais aucun aucune sans rien ni nunca sin ningun ninguno ninguna nada nadie tampoco
  non senza nao sem niet geen nooit`)
const negatedRuns = /ない|なか|なく|ません|ずに|[禁不没沒別别勿未无無莫非]/u

/** Runs of such a script that carry meaning: in Japanese, hiragana mostly inflects. */
const run = /\p{Script=Han}+|\p{Script=Katakana}+|[\p{Script=Thai}\p{Script=Khmer}\p{Script=Lao}]+/gu
const functionCharacters = /[的了是我你您他她它们們在]/u

/** Returns a text with its contractions written out, in the form that {@link pairsIn} searches. */
function writtenOut(text: string): string {
  return text
    .normalize('NFKC')
    .replaceAll(/n['’]t(?!\p{L})/giu, ' not')
    .replaceAll(/\bcannot\b/giu, 'can not')
    .replaceAll(speakerRuns, ' ')
}

/**
 * Returns the words of a text that carry its meaning.
 *
 * @param names further words that name the speaker, in plain form.
 */
export function spokenWords(text: string, names: ReadonlySet<string> = new Set()): SpokenWords {
  const written = writtenOut(text)
  const words = new Set<string>()
  const pairs = new Set<string>()
  let isNegated = negatedRuns.test(written)
  for (const [found] of plainOf(written).matchAll(word)) {
    for (const [part, unspaced] of found.matchAll(piece)) {
      if (unspaced !== undefined) for (const pair of pairsOf(unspaced)) pairs.add(pair)
      else if (negations.has(part)) isNegated = true
      else if (!functionWords.has(part) && !speakerWords.has(part) && !names.has(part) && termsOf(part).length > 0)
        words.add(part)
    }
  }
  return { words: Array.from(words, formsOf), pairs: [...pairs], isNegated }
}

function pairsOf(unspaced: string): readonly string[] {
  return [...unspaced.matchAll(run)]
    .flatMap(([found]) => found.split(functionCharacters))
    .flatMap((found) => {
      const characters = Array.from(found)
      return characters.length < 2 ? characters : characters.slice(1).map((next, i) => `${characters[i]}${next}`)
    })
}

/** The words of a text, prepared to find other words in it. */
export interface HeardWords {
  readonly forms: ReadonlySet<string>
  readonly plain: string
  readonly isNegated: boolean
}

export function heardWords(text: string): HeardWords {
  const { words, isNegated } = spokenWords(text)
  const plain = plainOf(writtenOut(text))
  // A word without content here may be a word with content of the other text.
  return { forms: new Set([...(plain.match(word) ?? []), ...words.flat()]), plain, isNegated }
}

/** Returns whether all words of a text occur in one of some consecutive sentences, and either both or none are negated. */
export function isHeard({ words, pairs, isNegated }: SpokenWords, heard: readonly HeardWords[]): boolean {
  return (
    words.length + pairs.length > 0 &&
    isNegated === heard.some((one) => one.isNegated) &&
    words.every((same) => same.some((form) => heard.some(({ forms }) => forms.has(form)))) &&
    pairs.every((pair) => heard.some(({ plain }) => plain.includes(pair)))
  )
}

const ending = /(?:est|ten|tet|te|en|et|er|es|em|st|[aeonstx])$/

/** Returns a word, its English stem, and its beginning without an ending of German, French or Spanish. Numbers have one form. */
function formsOf(one: string): readonly string[] {
  if (/\p{N}/u.test(one)) return [one]
  const begins = one.length > 4 ? one.replace(ending, '') : ''
  return [one, ...termsOf(one).map((stem) => `stem ${stem}`), ...(begins.length > 3 ? [`begins ${begins}`] : [])]
}
