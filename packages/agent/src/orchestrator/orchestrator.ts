/** The extension name of events and memos of orchestrators. */
export const orchestratorName = 'orchestrator'
