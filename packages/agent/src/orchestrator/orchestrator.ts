/** Of the events and memos of orchestrators. */
export const orchestratorName = 'orchestrator'
