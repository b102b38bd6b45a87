import type { Orchestrator } from '../types/orchestrator.ts'

const loopOfItsOwn: Orchestrator = async (run) => {
  for (;;) {
    const { position } = run
    if (position === 'end') return
    await (position === 'tools' || position === 'wait' ? run.execute() : run.model())
  }
}

/**
 * The default: the model is asked, its calls run, it is asked again, until it answers without a call.
 *
 * As an agent's `orchestrator` it is the loop itself and costs nothing. Called inside another orchestrator it does the
 * same from where the run stands.
 *
 * @example
 * createAgent({ name: 'desk', model, orchestrator: async (run) => { await agentic()(run); await run.say('Shorter.'); await agentic()(run) } })
 */
export function agentic(): Orchestrator {
  return loopOfItsOwn
}

/** Whether an orchestrator is the default one. */
export function isAgentic(orchestrator: Orchestrator): boolean {
  return orchestrator === loopOfItsOwn
}
