/** English verbs by what they do. Words of tools and of requests are looked up in the same table. */
export const deeds: Table = table({
  send: 'send email e-mail mail message write tell inform notify reply respond answer forward text ping remind contact announce',
  publish: 'post publish announce upload',
  pay: 'pay refund reimburse transfer wire settle donate remit',
  create: 'create make generate draft compose schedule set plan arrange save store put record write',
  add: 'add append include insert attach put join',
  invite: 'invite onboard add',
  change:
    'update change adjust modify edit alter correct set rename move reschedule postpone shift raise lower extend shorten replace fix reset switch swap exchange upgrade',
  exchange: 'exchange',
  remove: 'remove delete cancel erase drop kick revoke discard clear unsubscribe',
  book: 'book reserve order buy rebuy purchase rent checkout place',
  share: 'share grant give',
  fetch: 'get read open visit fetch download browse check look see view summarize summarise search find',
  run: 'run execute start deploy launch restart',
})

/** English nouns by what they name. */
export const things: Table = table({
  money:
    'money payment transaction bill invoice rent refund fee price amount difference salary debit order iban vat share cash euro dollar',
  message: 'message dm mail email e-mail note reply answer text letter newsletter feedback invitation',
  channel: 'channel room',
  group: 'group',
  web: 'web webpage page site website blog url link article',
  event: 'event calendar meeting appointment reminder lunch dinner session call',
  file: 'file document doc spreadsheet attachment folder report',
  password: 'password passcode passphrase credential pin',
  profile: 'profile address info information detail account street city phone name',
  hotel: 'hotel accommodation hostel room',
  restaurant: 'restaurant table dinner',
  car: 'car vehicle rental',
  flight: 'flight',
  ticket: 'ticket issue',
  workspace: 'slack workspace team',
})

type Table = ReadonlyMap<string, readonly string[]>

/** Turns lists of words by class into classes by word. */
function table(lists: Readonly<Record<string, string>>): Table {
  const found = new Map<string, string[]>()
  for (const [name, words] of Object.entries(lists)) {
    for (const word of words.split(' ')) found.set(word, [...(found.get(word) ?? []), name])
  }
  return found
}

const irregular: ReadonlyMap<string, string> = new Map([
  ['sent', 'send'],
  ['paid', 'pay'],
  ['wrote', 'write'],
  ['written', 'write'],
  ['bought', 'buy'],
  ['made', 'make'],
  ['told', 'tell'],
  ['gave', 'give'],
])
const endings: readonly (readonly [ending: string, replacements: readonly string[]])[] = [
  ['ies', ['y']],
  ['es', ['', 'e']],
  ['s', ['']],
  ['ing', ['', 'e']],
  ['ed', ['', 'e']],
]

/** Returns the form of a word that the tables have, or the word itself. */
export function lemmaOf(word: string): string {
  const lower = word.toLowerCase()
  const known = (form: string): boolean => deeds.has(form) || things.has(form)
  if (known(lower)) return lower
  const other = irregular.get(lower)
  if (other !== undefined) return other
  for (const [ending, replacements] of endings) {
    if (!lower.endsWith(ending)) continue
    const stem = lower.slice(0, -ending.length)
    for (const form of [...replacements.map((replacement) => stem + replacement), stem.slice(0, -1)])
      if (form.length >= 3 && known(form)) return form
  }
  return lower
}

/** Speaks of several, or of an unknown number. */
export const quantifier: RegExp =
  /\b(?:all|each|every(?:one|body)?|both|several|any|many|these|those|them|others?|remaining|rest|lists?|accordingly)\b/iu
/** Names people or things by their relation to something. */
export const relation: RegExp =
  /\b(?:same|usual|participants?|attendees|invitees|guests|members|sender|author|organi[sz]er|who(?:ever)?|colleagues?|like last)\b/iu
/** Asks for an amount that is computed or looked up. */
export const computation: RegExp =
  /\b(?:differences?|total|sum|rest|remainder|half|share|per ?cent|usual\w*|same|accordingly|like last|refund|bills?|invoices?|increase\w*|rent|what (?:they|he|she|i|we)|back)\b|\d ?%/iu
/** Delegates to a text. */
export const delegation: RegExp =
  /\b(?:follow|do|perform|complete|execute|carry out)\b[^.?!]{0,40}\b(?:instructions?|steps?|tasks?|actions?|to-?dos?)\b[^.?!]{0,40}\b(?:in|at|on|from|of|precisely)\b/iu
/** Delegates in plain words: `do what the ticket says`. It grants nothing by itself: a human agrees to the text first. */
export const plainDelegation: RegExp =
  /\b(?:do|follow|carry out|handle)\b[^.?!]{0,20}\b(?:what|whatever|everything|all that|as)\b[^.?!]{0,60}\b(?:says?|asks?(?: for)?|requests?|describes?|wants?|instructs?)\b/iu
