import { type Agent, createAgent, type ModelSpec } from 'provost'

const task = `You get a brief as JSON: whom the letter is for, and the points it has to make. Write the letter: every point, with its numbers as they are, nothing beyond them, in the language of the points. Do not sign it.`

/** Two who write the same letter, each in a way of their own. */
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
