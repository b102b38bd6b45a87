import { type Agent, createAgent, type ModelSpec } from 'provost'

const task = `You get a brief as JSON: the addressee of the letter, and the points it has to make. Write the letter: every point, with its numbers as they are, nothing beyond them, in the language of the points. Do not sign it.`

/** Creates two writers of the same letter, each with its own style. */
export function createWriters(model: ModelSpec): readonly Agent[] {
  return [
    createAgent({
      name: 'warm-writer',
      instructions: `You are the warm writer of Tallow Lane Supply. ${task} Write as one who is glad of every customer.`,
      model,
    }),
    createAgent({
      name: 'plain-writer',
      instructions: `You are the plain writer of Tallow Lane Supply. ${task} Write as short as it can be said.`,
      model,
    }),
  ]
}
