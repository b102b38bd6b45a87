import type { Steps } from '@provost/core'

import { longText } from '../text/long-text.ts'

/**
 * Words with which texts try to take command, by language. Words are stems: what begins with one counts. These rules
 * depend on the language; a language that is not here is not understood.
 */
interface Phrases {
  /** To ignore, to forget. */
  readonly ignore: string
  /** Instructions, rules. */
  readonly orders: string
  /** Previous, above, all. */
  readonly prior: string
}

const spaced: Readonly<Record<string, Phrases>> = {
  en: {
    ignore: 'ignore ignoring disregard forget override bypass neglect',
    orders: 'instruction rule prompt guideline direction directive command constraint polic context everything above',
    prior: 'previous prior above earlier preceding all your every any system initial original former foregoing',
  },
  de: {
    ignore: 'ignorier vergiss vergessen missacht uebergeh ubergeh',
    orders: 'anweisung instruktion regel vorgabe befehl richtlinie alles',
    prior: 'vorherig vorangegangen vorig bisherig obig oben alle fruher deine ihre system',
  },
  es: {
    ignore: 'ignora ignore olvida olvide desestima omite',
    orders: 'instruccion regla orden indicacion directriz todo',
    prior: 'anterior previa previo arriba toda todo tus sus sistema',
  },
  fr: {
    ignore: 'ignore ignorez oublie oubliez neglige',
    orders: 'instruction consigne regle ordre directive tout',
    prior: 'precedent anterieur dessus tout toute vos tes systeme',
  },
  it: {
    ignore: 'ignora ignorate dimentica trascura',
    orders: 'istruzion regol ordin direttiv tutto',
    prior: 'precedent anterior sopra tutt tue sistema',
  },
  pt: {
    ignore: 'ignore ignora esqueca esquece desconsidere',
    orders: 'instruc regra orden diretriz tudo',
    prior: 'anterior previa acima toda todo suas sistema',
  },
  nl: {
    ignore: 'negeer vergeet',
    orders: 'instructie regel opdracht alles',
    prior: 'vorige eerdere bovenstaande alle',
  },
  pl: {
    ignore: 'zignoruj ignoruj zapomnij pomin',
    orders: 'instrukcj polecen zasad',
    prior: 'poprzedni wczesniejsz powyzsz wszystki',
  },
  tr: { ignore: 'gormezden yoksay unut', orders: 'talimat kural komut', prior: 'onceki yukaridaki tum butun' },
  ru: {
    ignore: 'игнорируй проигнорируй игнорировать забудь',
    orders: 'инструкци правил указани команд',
    prior: 'предыдущ прежн выше все',
  },
  uk: { ignore: 'ігноруй проігноруй забудь', orders: 'інструкці правил вказівк', prior: 'попередн вище всі' },
  ar: { ignore: 'تجاهل انس اهمل', orders: 'التعليمات تعليمات الاوامر القواعد', prior: 'السابقه السابقة اعلاه جميع كل' },
  fa: { ignore: 'ناديده فراموش', orders: 'دستور', prior: 'قبلی قبلي بالا همه تمام' },
  he: { ignore: 'התעלם שכח', orders: 'הוראות ההוראות', prior: 'הקודמות קודמות לעיל כל' },
  hi: { ignore: 'अनदेखा नजरअंदाज भूल', orders: 'निर्देश नियम', prior: 'पिछले पहले सभी ऊपर' },
  ko: { ignore: '무시 잊어', orders: '지시 지침 명령 규칙', prior: '이전 위의 모든 앞의' },
  vi: { ignore: 'bo phot qua', orders: 'huong chi quy', prior: 'truoc tren' },
  id: { ignore: 'abaikan lupakan', orders: 'instruksi perintah aturan', prior: 'sebelumnya semua atas' },
}
/** Languages without spaces between words. */
const unspaced: readonly Phrases[] = [
  {
    ignore: '忽略 忽视 无视 忘记 忽略 無視 忘記',
    orders: '指令 指示 规则 規則 说明 說明 提示词 内容',
    prior: '之前 以前 以上 上面 先前 所有 前面 系统',
  },
  { ignore: '無視 忘れ 従わない', orders: '指示 命令 ルール 指令', prior: '以前 上記 これまで 前の すべて 全て' },
  { ignore: 'เพิกเฉย ละเว้น ลืม', orders: 'คำสั่ง กฎ', prior: 'ก่อนหน้า ข้างต้น ทั้งหมด' },
]
/** Takes a word after it back: "do not forget". */
const negations: ReadonlySet<string> = new Set(
  'not dont never t nicht nie no nunca ne pas non nao niet nie не لا'.split(' '),
)

/** Phrases that assign a role or a task to a model, and that requests for help seldom contain. */
const claims: readonly RegExp[] = [
  /\byou are now (?:an? |the |in )?(?:[a-z]{1,15} ){0,3}(?:assistant|ai|chatbot|jailbroken|unrestricted|dan|developer mode|admin)\b/,
  /\b(?:act as|pretend to be|behave as|roleplay as|respond as) (?:if you (?:are|were) )?(?:an? |the )?(?:[a-z]{1,15} ){0,3}(?:assistant|jailbroken|unrestricted|unfiltered|dan|evil|no restrictions)\b/,
  /\b(?:new|updated|real|actual|important) (?:system )?(?:instructions?|prompt|task|orders) ?(?:for (?:you|the (?:ai|assistant|model|agent))|:)/,
  /\b(?:important )?(?:message|note|instructions?|notice) (?:from|for|to) (?:the )?(?:ai|assistant|language model|llm|ai agent|system administrator|your developers?)\b/,
  /\b(?:do not|dont|without|never) (?:tell|telling|inform|informing|mention|mentioning|alert|alerting|reveal)(?: this| it| that| any of this)?(?: to)? (?:the |your )?users?\b/,
  /\b(?:reveal|print|repeat|output|show|leak|disclose) (?:me )?(?:your|the) (?:entire |full |hidden |initial )?(?:system )?(?:prompt|instructions)\b/,
  /\bbefore (?:you (?:can )?)?(?:solve|solving|complet(?:e|ing)|answer(?:ing)?|do(?:ing)?) (?:the|your|my) (?:original |initial |user )?(?:task|request|question)[^.]{0,40}\b(?:please|must|have to|need to|first)\b/,
  /\bfrom now on,? you (?:are|will|must|shall)\b/,
  /\bai (?:assistant|agent|model)s?(?: reading this)?,? (?:must|should|please|is required to|are required to|shall)\b/,
]

/** Words between the parts of one phrase, at most. */
const near = 7
/** The distance for scripts without word borders, in characters. */
const nearby = 16
const longestStem = 14

/** Finds the likely instructions in folded text. */
export function* instructionSteps(text: string): Steps<readonly { readonly start: number; readonly end: number }[]> {
  const found: { start: number; end: number }[] = []
  for (const claim of claims) {
    if (text.length > longText) yield
    for (const { index, 0: match } of text.matchAll(new RegExp(claim, 'g')))
      found.push({ start: index, end: index + match.length })
  }
  yield* commandsIn(text, found)
  unspacedIn(text, found)
  return found
}

const ignores = 1
const orders = 2
const priors = 4
/** Stems, as bits of what they mean, one set of three bits for each language. */
let stems: Map<string, Map<number, number>> | undefined
let foldWord: (text: string) => string = (text) => text

/** Sets the function that folds phrases in the same way as texts. The folding module calls it once. */
export function useFolding(fold: (text: string) => string): void {
  foldWord = fold
}

function stemsNow(): Map<string, Map<number, number>> {
  if (stems) return stems
  stems = new Map()
  for (const [language, phrases] of Object.values(spaced).entries()) {
    for (const [bit, list] of [
      [ignores, phrases.ignore],
      [orders, phrases.orders],
      [priors, phrases.prior],
    ] as const) {
      for (const word of list.split(' ')) {
        const stem = foldWord(word)
        const meanings = stems.get(stem) ?? new Map<number, number>()
        meanings.set(language, (meanings.get(language) ?? 0) | bit)
        stems.set(stem, meanings)
      }
    }
  }
  return stems
}

/** A word to ignore, a word for orders and a word for earlier ones, in one language and near each other. */
function* commandsIn(text: string, found: { start: number; end: number }[]): Steps<void> {
  const known = stemsNow()
  const recent: { readonly at: number; readonly start: number; readonly meanings: Map<number, number> }[] = []
  let [at, before] = [0, '']
  for (const { index, 0: word } of text.matchAll(/[\p{L}\p{M}\p{N}]+/gu)) {
    if (++at % 4_096 === 0) yield
    for (let length = Math.min(longestStem, word.length); length >= 2; length--) {
      const meanings = known.get(word.slice(0, length))
      if (!meanings) continue
      while (recent[0] && recent[0].at < at - near) recent.shift()
      if (!negations.has(before)) recent.push({ at, start: index, meanings })
      const start = wholeCommand(recent)
      if (start !== undefined) {
        found.push({ start, end: index + word.length })
        recent.length = 0
      }
      break
    }
    before = word
  }
}

function wholeCommand(
  recent: readonly { readonly start: number; readonly meanings: Map<number, number> }[],
): number | undefined {
  const bits = new Map<number, number>()
  for (const { meanings } of recent) {
    for (const [language, bit] of meanings) {
      const all = (bits.get(language) ?? 0) | bit
      if (all === (ignores | orders | priors)) return recent[0]?.start
      bits.set(language, all)
    }
  }
  return undefined
}

interface UnspacedWords {
  readonly ignore: RegExp
  readonly orders: RegExp
  readonly prior: RegExp
}

let unspacedWords: readonly UnspacedWords[] | undefined

function unspacedNow(): readonly UnspacedWords[] {
  const any = (words: string, flags = ''): RegExp => new RegExp(foldWord(words).replaceAll(' ', '|'), flags)
  unspacedWords ??= unspaced.map(({ ignore, orders: order, prior }) => ({
    ignore: any(ignore, 'g'),
    orders: any(order),
    prior: any(prior),
  }))
  return unspacedWords
}

function unspacedIn(text: string, found: { start: number; end: number }[]): void {
  // Scripts of other families contain none of these, so one check is enough.
  if (!/[\u0E00-\u0E7F\u3040-\u30FF\u4E00-\u9FFF]/.test(text)) return
  for (const words of unspacedNow()) {
    if (!words.orders.test(text) || !words.prior.test(text)) continue
    for (const { index } of text.matchAll(words.ignore)) {
      const around = text.slice(Math.max(0, index - nearby), index + nearby)
      if (words.orders.test(around) && words.prior.test(around))
        found.push({ start: Math.max(0, index - 1), end: Math.min(text.length, index + nearby) })
    }
  }
}
