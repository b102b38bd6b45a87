import { type Agent, createAgent, type EvaluatorVerdict, type ModelSpec } from 'provost'

const instructions = `You are the corrector of Tallow Lane Supply. You get a letter with the brief that it was written to, as JSON. Answer with the letter alone; where you are told what to do better, with the whole letter made better.`

/** Hands a letter on as it is, or better where it was not good enough. */
export function createCorrector(model: ModelSpec): Agent {
  return createAgent({ name: 'corrector', instructions, model })
}

const signature = 'Tallow Lane Supply'
const links = /\b(?:https?:\/\/|www\.)\S{1,200}|[\w.+-]{1,64}@[\w-]{1,63}\.[\w.-]{1,100}/gi

/** What every letter of the shop has to be: no opinion of a model, but a rule. */
export function proofread(letter: string, points: readonly string[]): EvaluatorVerdict {
  const brief = points.join('\n')
  const missing = (brief.match(/\d[\d.,-]*\d|\d/g) ?? []).filter((number) => !letter.includes(number))
  const strange = (letter.match(links) ?? []).filter((link) => !brief.includes(link))
  const faults = [
    ...(missing.length > 0 ? [`Say ${missing.join(', ')}.`] : []),
    ...(strange.length > 0 ? [`Leave out ${strange.join(', ')}.`] : []),
    ...(letter.trimEnd().endsWith(signature) ? [] : [`Sign as ${signature}.`]),
    ...(letter.length > 4_000 ? ['Be shorter.'] : []),
  ]
  return { accepted: faults.length === 0, feedback: faults.join(' '), score: 1 / (1 + faults.length) }
}
