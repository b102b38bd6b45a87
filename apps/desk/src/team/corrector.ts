import { type Agent, createAgent, type EvaluatorVerdict, type ModelSpec } from 'provost'

const instructions = `You are the corrector of Tallow Lane Supply. You get a letter with the brief that it was written to, as JSON. Answer with the letter alone; where you are told what to do better, with the whole letter made better.`

/** Creates the agent that returns a letter unchanged, or improved where the proofreader rejected it. */
export function createCorrector(model: ModelSpec): Agent {
  return createAgent({ name: 'corrector', instructions, model })
}

const signature = 'Tallow Lane Supply'
const links = /\b(?:https?:\/\/|www\.)\S{1,200}|[\w.+-]{1,64}@[\w-]{1,63}\.[\w.-]{1,100}/gi

/** Requirements for every letter of the shop, checked by rules instead of a model. */
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
