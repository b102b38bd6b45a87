import { tmpdir } from 'node:os'
import { join } from 'node:path'

import * as agent from '@provost/agent'
import * as cli from '@provost/cli'
import * as client from '@provost/client'
import * as clientAi from '@provost/client/ai'
import * as codeMode from '@provost/code-mode'
import * as webConsole from '@provost/console'
import type { CompositeContext } from '@provost/core'
import * as core from '@provost/core'
import * as durable from '@provost/durable'
import * as governance from '@provost/governance'
import * as policyCommand from '@provost/governance/policy-command'
import * as guard from '@provost/guard'
import * as guardClaude from '@provost/guard/claude-agent'
import * as guardOpenai from '@provost/guard/openai-agents'
import * as memory from '@provost/memory'
import * as policyCedar from '@provost/policy-cedar'
import * as provider from '@provost/provider'
import * as replay from '@provost/replay'
import * as server from '@provost/server'
import * as serverAi from '@provost/server/ai'
import * as sessions from '@provost/sessions'
import * as storeKit from '@provost/sessions/kit'
import * as storePostgres from '@provost/sessions/postgres'
import * as teams from '@provost/teams'
import * as telemetry from '@provost/telemetry'
import * as logger from '@provost/telemetry/logger'
import * as testing from '@provost/testing'
import * as tools from '@provost/tools'
import * as provost from 'provost'
import { z } from 'provost'
import { describe, expect, test } from 'vitest'

/** What is put beside valid options. */
type More = Readonly<Record<string, unknown>>
/** Each function is called with valid options and something more; all of them have to refuse it. */
type Doors = readonly ((more: More) => unknown)[]
/** Its options are refused where they are unknown; it takes none; or it takes some that nothing has to be said of. */
type Entry = Doors | 'no options' | { readonly unchecked: string }

const model = testing.scriptedModel([{ text: 'ok' }], { after: 'repeat-last' })
const input = z.object({ to: z.string() })
const note = tools.tool({ name: 'note', input, execute: () => 1 })
const store = (): ReturnType<typeof sessions.memoryStore> => sessions.memoryStore()
const desk = agent.createAgent({ name: 'desk', model })
const trajectory: replay.Trajectory = {
  status: 'completed',
  answer: '',
  calls: [],
  steps: 1,
  inputTokens: 1,
  outputTokens: 1,
  durationMs: 1,
}
const clerk = agent.createAgent({ name: 'clerk', model })
const child = { agent: clerk, input: 'go' }
const made = { name: 'made', model }
const perStep = 'The loop makes it for each step; the doors to it are checked.'
const data = 'Data of the log, read as far as it is known.'
const port = 'An interface to implement: an implementation may have more methods.'
const generic = 'Any value.'

const manifest: Readonly<Record<string, Readonly<Record<string, Entry>>>> = {
  core: {
    ProvostError: { unchecked: 'Of errors; a hint is text.' },
    SessionBusyError: 'no options',
    addUsage: { unchecked: data },
    argsByRole: 'no options',
    assertNever: 'no options',
    canonicalJson: 'no options',
    checkArguments: 'no options',
    checkChoice: 'no options',
    checkedStore: 'no options',
    uncheckedAppend: 'no options',
    clockOf: 'no options',
    every: { unchecked: 'The options of a timer are a flag, and a clock of your own may take more.' },
    signalAfter: 'no options',
    sleep: 'no options',
    withCheckedArguments: 'no options',
    checkFilter: [
      (more) => core.checkFilter({ kind: 'lastN', n: 1, ...more }),
      (more) => core.checkFilter({ kind: 'compose', filters: [{ kind: 'full', ...more }] }),
    ],
    checkForkOffers: [(more) => core.checkForkOffers({ prompts: {}, ...more }, 'here')],
    checkOverrides: [(more) => core.checkOverrides({ prompt: 'brief', ...more }, 'here')],
    isForkMark: 'no options',
    overridesIn: 'no options',
    checkLabel: [(more) => core.checkLabel({ integrity: 'trusted', ...more }, 'here')],
    checkOptions: [(more) => core.checkOptions({ a: 1, ...more }, { a: true }, 'here')],
    childKey: 'no options',
    createEventDecoder: 'no options',
    createEventEncoder: 'no options',
    createScrubber: 'no options',
    deepFreeze: 'no options',
    defineEvent: 'no options',
    emitted: 'no options',
    eventFilter: 'no options',
    eventTypesWith: 'no options',
    hasTrait: 'no options',
    isEventOf: 'no options',
    defineExtension: [
      (more) => core.defineExtension({ name: 'x', ...more }),
      (more) => core.defineExtension({ name: 'x', skills: [{ name: 'a', when: 'b', content: 'c', ...more }] }),
    ],
    escapePointer: 'no options',
    fillLabel: { unchecked: 'Fails closed: an unknown key makes the label the strictest.' },
    fromErrorInfo: { unchecked: data },
    append: 'no options',
    hostileKeyIn: { unchecked: 'Two limits that the packages themselves give.' },
    isCallTo: 'no options',
    lazily: 'no options',
    leaseOwner: 'no options',
    processName: 'no options',
    processOfOwner: 'no options',
    isEventType: 'no options',
    isPartOrigin: { unchecked: data },
    isPromise: 'no options',
    isRecord: 'no options',
    isStandardSchema: 'no options',
    joinLabels: { unchecked: 'Takes whole labels, which fillLabel gives.' },
    labelOf: { unchecked: data },
    liveFields: { unchecked: generic },
    mapTexts: 'no options',
    messageOfEntry: 'no options',
    messagesOfView: 'no options',
    opensCalls: 'no options',
    purposeOf: 'no options',
    nearestName: 'no options',
    oneOf: 'no options',
    parseWith: 'no options',
    positionId: 'no options',
    redactedToken: 'no options',
    replaceTokens: 'no options',
    scrubAnswer: { unchecked: data },
    scrubEntry: { unchecked: data },
    scrubError: 'no options',
    scrubErrorInfo: { unchecked: data },
    scrubMessage: { unchecked: data },
    scrubOutput: { unchecked: data },
    scrubParts: { unchecked: data },
    scrubPayload: { unchecked: data },
    secretToken: 'no options',
    textOf: { unchecked: data },
    toErrorInfo: 'no options',
    toJson: 'no options',
    untrustedLabel: 'no options',
    uuidv7: 'no options',
    wireToolName: 'no options',
    definitionText: 'no options',
    displayText: { unchecked: 'Called for each text that is shown.' },
    hasHidden: 'no options',
    isBase64: 'no options',
    changeText: 'no options',
    questionText: 'no options',
    reasonText: 'no options',
    sessionQuarantined: 'no options',
    threadFlags: 'no options',
    toBase64: 'no options',
    admit: 'no options',
    finish: 'no options',
  },
  agent: {
    PendingInputError: 'no options',
    advance: 'no options',
    agentic: 'no options',
    createAgent: [
      (more) => agent.createAgent({ ...made, ...more }),
      (more) => agent.createAgent({ ...made, settings: { seed: 1, ...more } }),
      (more) => agent.createAgent({ ...made, settings: { toolChoice: { tool: 'note', ...more } } }),
      (more) => agent.createAgent({ ...made, prices: { 'a/b': { input: 1, output: 1, ...more } } }),
      (more) => agent.createAgent({ ...made, model: { fast: model, ...more } }),
      (more) => agent.createAgent({ ...made, model: { model, accepts: ['public'], ...more } }),
    ],
    compensatedSession: 'no options',
    compensationLog: 'no options',
    foldLog: { unchecked: data },
    handoff: [(more) => agent.handoff(desk, { mode: 'return', ...more })],
    logEvents: { unchecked: 'The server reads a log with it.' },
    nextAction: { unchecked: data },
    lastModel: { unchecked: data },
    pendingWait: { unchecked: data },
    pendingWork: { unchecked: data },
    sessionCost: { unchecked: data },
    sessionUsage: { unchecked: data },
    resolveWaits: [
      (more) => agent.resolveWaits(store(), 'x', { approvals: [], ...more }),
      (more) => agent.resolveWaits(store(), 'x', { approvals: [{ id: 'a', decision: 'deny', ...more }] }),
    ],
    resumeLoop: { unchecked: port },
    runLoop: 'no options',
    startLoop: { unchecked: port },
    whoAsks: 'no options',
  },
  tools: {
    modelTool: 'no options',
    a2aTool: [(more) => tools.a2aTool({ name: 'ask', url: 'https://a.example', ...more })],
    buildRegistry: { unchecked: 'createAgent checks what it is made of.' },
    childSecrets: { unchecked: 'spawn and toTool check what is lent.' },
    createSecretScope: { unchecked: 'Secrets by names of the user.' },
    createSlots: 'no options',
    createToolIndex: 'no options',
    declaredSecrets: 'no options',
    fromAiTool: [
      (more) => tools.fromAiTool('x', aiTool, { effect: 'read', ...more }),
      (more) => tools.fromAiTool('x', { ...aiTool, ...more }),
      (more) => tools.fromAiTool('x', aiTool, { returns: { integrity: 'trusted', ...more } }),
      (more) => tools.fromAiTool('x', aiTool, { effect: 'read', cache: { ttlMs: 1, ...more } }),
    ],
    hasEffect: 'no options',
    jsonSchemaOf: 'no options',
    justBashRuntime: [(more) => tools.justBashRuntime({ cwd: '/work', ...more })],
    leavesOutcomeOpen: 'no options',
    listTools: { unchecked: 'Tools by names of the user.' },
    loadSkills: 'no options',
    mcpTools: [
      (more) => tools.mcpTools({ name: 'x', transport: stdio, ...more }),
      (more) => tools.mcpTools({ name: 'x', transport: { ...stdio, ...more } }),
    ],
    nodeRuntime: [(more) => tools.nodeRuntime({ cwd: '.', ...more })],
    parseInput: 'no options',
    readResultTool: { unchecked: 'Readers by schemes of the user.' },
    restoredInput: 'no options',
    resultLimits: { unchecked: 'Readers by schemes of the user.' },
    remoteFailure: { unchecked: perStep },
    resultOf: { unchecked: perStep },
    rich: [
      (more) => tools.rich(1, { details: 1, ...more }),
      (more) => tools.rich(1, { label: { integrity: 'trusted', ...more } }),
    ],
    runBatch: { unchecked: perStep },
    runTool: { unchecked: perStep },
    secretRef: 'no options',
    skillCatalogue: [(more) => tools.skillCatalogue('x', [{ name: 'a', when: 'b', content: 'c', ...more }])],
    tool: [
      (more) => tools.tool({ name: 'x', input, ...more }),
      (more) => tools.tool({ name: 'x', input, returns: { integrity: 'trusted', ...more } }),
      (more) => tools.tool({ name: 'x', input, examples: [{ input: { to: 'a' }, ...more }] }),
      (more) => tools.tool({ name: 'x', input, effect: 'read', cache: { ttlMs: 1, ...more }, execute: () => 1 }),
    ],
    toolCache: 'no options',
    toolInputs: 'no options',
    toolSearch: 'no options',
    toolSet: { unchecked: 'Tools by names of the user.' },
    vercelSandboxRuntime: [(more) => tools.vercelSandboxRuntime({ cwd: '/x', ...more })],
    webFetchTool: [(more) => tools.webFetchTool({ timeoutMs: 1, ...more })],
    fingerprintFile: 'no options',
    foreignSchema: [(more) => tools.foreignSchema({ type: 'string' }, { vendor: 'x', ...more })],
    patternAllowance: 'no options',
    schemaProblems: 'no options',
    checkSandboxes: 'no options',
    sandboxed: 'no options',
  },
  provider: {
    callModel: { unchecked: perStep },
    checkModel: [(more) => provider.checkModel({ fast: model, ...more }, 'here')],
    checkOneModel: [(more) => provider.checkOneModel({ model, accepts: [], ...more }, 'here')],
    checkPrices: [
      (more) => provider.checkPrices({ 'a/b': { input: 1, output: 1, ...more } }, 'here'),
      (more) =>
        provider.checkPrices(
          { 'a/b': { input: 1, output: 1, long: { above: 1, input: 1, output: 1, ...more } } },
          'here',
        ),
    ],
    checkSettings: [(more) => provider.checkSettings({ seed: 1, ...more }, 'here')],
    chooseModel: 'no options',
    classifyError: 'no options',
    costOf: { unchecked: 'Prices by names of models; createAgent checks them.' },
    createPrompt: [(more) => provider.createPrompt({ reasoning: 'keep', ...more })],
    estimateTokens: 'no options',
    fromModelMessages: { unchecked: data },
    hasTiers: 'no options',
    isModelCleared: 'no options',
    messageTokens: { unchecked: data },
    modelFallback: [
      (more) => provider.modelFallback([model], { name: 'x', ...more }),
      (more) => provider.modelFallback([{ model, accepts: [], ...more }]),
    ],
    modelName: 'no options',
    priceOf: { unchecked: 'Prices by names of models; createAgent checks them.' },
    resolveModel: 'no options',
    cooldownOf: 'no options',
    retryDelayMs: { unchecked: data },
    toModelMessages: { unchecked: data },
    windowOf: 'no options',
    withCachePoints: { unchecked: perStep },
    priceFor: 'no options',
  },
  sessions: {
    applyFilter: 'no options',
    checkHistory: 'no options',
    withoutCalls: 'no options',
    attributionOf: { unchecked: data },
    checkSessionId: 'no options',
    claimEffect: { unchecked: data },
    createdBody: { unchecked: data },
    createdId: 'no options',
    createdIn: { unchecked: data },
    effectChange: 'no options',
    effectEnd: { unchecked: data },
    endEffect: { unchecked: data },
    exportSession: [async (more) => sessions.exportSession(store(), 'x', { for: 'outside', ...more }).next()],
    forkSession: [(more) => sessions.forkSession(store(), 'x', { id: 'y', ...more })],
    fromMessageStore: { unchecked: port },
    indexSummaries: 'no options',
    importSession: [(more) => sessions.importSession(store(), [], { id: 'x', ...more })],
    isCreated: { unchecked: data },
    isEntry: { unchecked: data },
    isLedgerName: 'no options',
    isPart: { unchecked: data },
    jsonlStore: [(more) => sessions.jsonlStore(join(tmpdir(), 'never-made'), { sync: 'never', ...more })],
    listEffects: [
      async (more) => {
        for await (const _ of sessions.listEffects(store(), { scope: 'session', scopeId: 'x', ...more })) break
      },
    ],
    memoryStore: [(more) => sessions.memoryStore({ ...more })],
    messageFault: { unchecked: data },
    postgresStore: [(more) => sessions.postgresStore('postgres://nowhere/x', { schema: 'x', ...more })],
    readAttempts: { unchecked: data },
    linkWork: 'no options',
    auditLogOf: 'no options',
    linkedWork: 'no options',
    folderArchive: 'no options',
    parentLogOf: { unchecked: data },
    pruneSessions: [async (more) => sessions.pruneSessions(store(), { olderThanMs: 1, ...more })],
    removeEffects: { unchecked: data },
    removeLinks: 'no options',
    readEffect: { unchecked: data },
    repairHistory: { unchecked: data },
    sanitizeAnnotations: { unchecked: data },
    sessionInfo: { unchecked: data },
    sqliteStore: [(more) => sessions.sqliteStore(':memory:', { sync: 'never', ...more })],
    countedRead: 'no options',
  },
  'sessions/kit': {
    addFresh: 'no options',
    addTransient: { unchecked: data },
    blobHash: 'no options',
    createWatchers: { unchecked: port },
    deliveryId: 'no options',
    endQuarantine: { unchecked: data },
    fenced: 'no options',
    freshBlobs: 'no options',
    grantLease: { unchecked: port },
    hashesIn: 'no options',
    isHash: 'no options',
    leaseStateOf: { unchecked: data },
    mustBeDurable: { unchecked: data },
    nameKey: 'no options',
    ownedLogs: { unchecked: data },
    permitsAppend: { unchecked: data },
    planAppend: 'no options',
    readEntry: 'no options',
    releaseLease: { unchecked: data },
    selectSessions: { unchecked: data },
    sessionInfo: { unchecked: data },
    storeClosed: 'no options',
    summarizeAppend: { unchecked: data },
    writeEntry: { unchecked: data },
    wrongOffset: 'no options',
  },
  'sessions/postgres': {
    connectPostgres: [
      (more) =>
        storePostgres.connectPostgres({
          ...{ url: 'postgres://nowhere/x', connections: 1, caller: 'x', packages: ['pg'], content: 'x' },
          prepare: async () => {},
          closed: storeKit.storeClosed,
          ...more,
        }),
    ],
  },
  governance: {
    approvalPolicy: 'no options',
    auditChain: { unchecked: data },
    auditLog: [(more) => governance.auditLog({ key: 'k', ...more })],
    budget: [
      (more) => governance.budget({ tokens: 1, ...more }),
      (more) => governance.budget({ tokens: 1 }, { per: 'run', ...more }),
    ],
    causalityMonitor: [
      (more) => governance.causalityMonitor({ strictness: 'deny', ...more }),
      (more) => governance.causalityMonitor({ capabilities: { clerk: { effects: ['read'], ...more } } }),
    ],
    createTaintIndex: [(more) => governance.createTaintIndex({ minSpan: 20, ...more })],
    trustedOutputs: { unchecked: 'Of names of tools: each is looked for before the first run.' },
    dataFlowPolicy: [(more) => governance.dataFlowPolicy({ mode: 'enforce', ...more })],
    deleteFromAudit: [(more) => governance.deleteFromAudit('', { entries: [], by: 'x', ...more })],
    erasePrincipal: [async (more) => governance.erasePrincipal(store(), { id: 'x' }, { by: 'x', ...more })],
    eraseSession: [async (more) => governance.eraseSession(store(), 'x', { by: 'x', ...more })],
    escapeFor: 'no options',
    verifyReceipt: [
      async (more) =>
        governance.verifyReceipt(await governance.eraseSession(store(), 'x', { by: 'x' }), { key: 'k', ...more }),
    ],
    inspectInbound: 'no options',
    isSafeFor: 'no options',
    mergeGuard: [(more) => governance.mergeGuard({ untrustedShare: 0.5, ...more })],
    policyReportText: [
      async (more) => governance.policyReportText(await governance.reportPolicy([]), { values: true, ...more }),
    ],
    policyTestText: [
      async (more) => {
        const policyTest = await governance.testPolicy([], { policy: { mode: 'enforce' }, agents: [desk] })
        return governance.policyTestText(policyTest, { values: true, ...more })
      },
    ],
    roleValuesOf: 'no options',
    protocolGuard: [(more) => governance.protocolGuard({ onViolation: 'deny', ...more })],
    reportPolicy: [(more) => governance.reportPolicy([], { agents: [desk], ...more })],
    sanitizeInbound: [(more) => governance.sanitizeInbound({ policy: 'flag', ...more })],
    stripInbound: { unchecked: 'Findings of inspectInbound.' },
    testPolicy: [
      (more) => governance.testPolicy([], { policy: { mode: 'enforce' }, agents: [desk], ...more }),
      (more) => governance.testPolicy([], { policy: { mode: 'enforce', ...more }, agents: [desk] }),
      (more) => {
        const against = { mode: 'enforce', ...more } as const
        return governance.testPolicy([], { policy: { mode: 'enforce' }, agents: [desk], against })
      },
    ],
    verifyAudit: [(more) => governance.verifyAudit([], { head: 'x', ...more })],
  },
  'governance/policy-command': {
    policyCommand: [(more) => policyCommand.policyCommand(['--help'], { print() {}, ...more })],
  },
  durable: { restateEngine: [(more) => durable.restateEngine({ ingress: 'http://127.0.0.1:1', ...more })] },
  'policy-cedar': {
    cedarRule: [(more) => policyCedar.cedarRule({ policy: '', tools: [note], ...more })],
  },
  guard: {
    approvalFrom: [(more) => guard.approvalFrom({}, { name: 'x', ...more })],
    createGuard: [(more) => guard.createGuard({ mode: 'enforce', ...more })],
    provenance: [(more) => guard.provenance({ mode: 'enforce', ...more })],
  },
  'guard/claude-agent': { claudeGuard: [(more) => guardClaude.claudeGuard({ mode: 'enforce', ...more })] },
  'guard/openai-agents': { agentsGuard: [(more) => guardOpenai.agentsGuard({ mode: 'enforce', ...more })] },
  memory: {
    compaction: [(more) => memory.compaction({ threshold: 0.5, ...more })],
    createMemory: [
      (more) => memory.createMemory({ store: store(), ...more }),
      (more) => memory.createMemory({ store: store(), weights: { next: 1, ...more } }),
      (more) => memory.createMemory({ store: store(), reminders: { limit: 1, ...more } }),
      (more) => memory.createMemory({ store: store(), blocks: [{ name: 'a', about: 'b', ...more }] }),
    ],
    postgresMemory: [(more) => memory.postgresMemory('postgres://nowhere/x', { schema: 'x', ...more })],
    sqliteMemory: [(more) => memory.sqliteMemory(':memory:', { busyMs: 1, ...more })],
  },
  'code-mode': {
    codeMode: [
      (more) => codeMode.codeMode({ frozen: true, ...more }),
      (more) => codeMode.codeMode({ limits: { cpuMs: 1, ...more } }),
    ],
    planned: [(more) => codeMode.planned({ workers: 1, ...more })],
    createSandbox: [
      (more) => codeMode.createSandbox({ workers: 1, ...more }),
      (more) => codeMode.createSandbox({ limits: { cpuMs: 1, ...more } }),
    ],
  },
  teams: {
    evaluatorOptimizer: [
      (more) => teams.evaluatorOptimizer({ ...evaluating, ...more }),
      (more) => teams.evaluatorOptimizer({ ...evaluating, evaluator: { ...evaluating.evaluator, ...more } }),
      (more) => teams.evaluatorOptimizer({ ...evaluating, decisions: { approvals: [{ ...approval, ...more }] } }),
      (more) => teams.evaluatorOptimizer({ ...evaluating, decisions: { inputs: [], ...more } }),
    ],
    fanOut: [
      (more) => teams.fanOut(desk, { children: [child], mergeStrategy: 'concat', ...more }),
      (more) => teams.fanOut(desk, { children: [{ ...child, ...more }], mergeStrategy: 'concat' }),
    ],
    planAndExecute: [(more) => teams.planAndExecute({ maxReplans: 1, ...more })],
    react: [(more) => teams.react({ maxThoughtTokens: 1, ...more })],
    runFanOut: [
      (more) => teams.runFanOut({ children: [child], mergeStrategy: 'concat', ...more }),
      (more) => teams.runFanOut({ children: [{ ...child, ...more }], mergeStrategy: 'concat' }),
      (more) =>
        teams.runFanOut({ children: [{ agentId: 'a', invoke: async () => 1, ...more }], mergeStrategy: 'concat' }),
      (more) => teams.runFanOut({ children: [child], mergeStrategy: { kind: 'concat', ...more } }),
      (more) => teams.runFanOut({ children: [child], mergeStrategy: 'concat', perBudget: { tokens: 1, ...more } }),
      (more) => teams.runFanOut({ children: [child], mergeStrategy: 'concat', decisions: { inputs: [], ...more } }),
    ],
  },
  replay: {
    caseFromLog: [(more) => replay.caseFromLog([], { name: 'x', ...more })],
    compareEvaluations: { unchecked: data },
    differencesOf: [
      (more) => replay.differencesOf(trajectory, { calls: [], ...more }),
      (more) => replay.differencesOf(trajectory, { limits: { steps: 1, ...more } }),
    ],
    evaluate: [
      (more) => replay.evaluate(desk, [{ name: 'x', input: 'x' }], { runs: 1, ...more }),
      (more) => replay.evaluate(desk, [{ name: 'x', input: 'x', ...more }]),
    ],
    judged: 'no options',
    trajectoryOf: { unchecked: data },
    replayHandoffs: { unchecked: data },
    replayInputs: { unchecked: data },
    replaySession: [(more) => replay.replaySession(desk, [], { maxSteps: 1, ...more })],
  },
  'telemetry/logger': {
    createLogger: [(more) => logger.createLogger({ level: 'silent', ...more })],
  },
  telemetry: {
    collectSpans: 'no options',
    currentRun: 'no options',
    drawSpans: [(more) => telemetry.drawSpans([], { title: 'x', ...more })],
    printSpans: [(more) => telemetry.printSpans([], { width: 1, ...more })],
    spanTree: { unchecked: data },
    telemetry: [(more) => telemetry.telemetry({ recordContent: false, ...more })],
    traceHeaders: { unchecked: 'Headers by names of the user.' },
    traceMeta: { unchecked: 'Fields by names of the user.' },
    traceRequests: [(more) => telemetry.traceRequests(() => new Response(), { ...more })],
    withTrace: { unchecked: 'Headers of a request.' },
  },
  testing: {
    assertWellFormed: { unchecked: data },
    crashAt: { unchecked: 'The moment is a number or a name.' },
    effectFile: 'no options',
    effectServer: [(more) => testing.effectServer({ knowsKeys: true, ...more })],
    engineConformance: { unchecked: port },
    findPostgres: 'no options',
    findRestate: 'no options',
    freePorts: 'no options',
    startRestate: { unchecked: 'Settings of the server are environment variables.' },
    startTcpProxy: { unchecked: 'A list of ports and paths.' },
    manualClock: [(more) => testing.manualClock({ at: 0, ...more })],
    pauseAt: { unchecked: 'The moment is a number or a name.' },
    runtimeConformance: 'no options',
    recordedSteps: 'no options',
    scriptedModel: [
      (more) => testing.scriptedModel([], { modelId: 'x', ...more }),
      (more) => testing.scriptedModel([{ text: 'x', ...more }]),
      (more) => testing.scriptedModel([{ toolCalls: [{ name: 'x', ...more }] }]),
    ],
    startAimock: [
      (more) => testing.startAimock([{ text: 'x', ...more }]),
      (more) => testing.startAimock([{ failure: { status: 429, ...more } }]),
    ],
    startPostgres: 'no options',
    storeConformance: { unchecked: port },
  },
  server: {
    createServer: [
      (more) => server.createServer({ agents: [desk], store: store(), ...more }),
      (more) => server.createServer({ agents: [desk], store: store(), limits: { runs: 1, ...more } }),
      (more) => server.createServer({ agents: [desk], store: store(), requestOptions: { toolChoice: true, ...more } }),
      (more) =>
        server.createServer({
          agents: [desk],
          store: store(),
          requestOptions: { temperature: { min: 0, max: 1, ...more } },
        }),
      (more) => server.createServer({ agents: [desk], store: store(), chat: { onDisconnect: 'abort', ...more } }),
    ],
    createWorker: [
      (more) => server.createWorker({ agents: [desk], store: store(), ...more }),
      (more) => server.createWorker({ agents: [desk], store: store(), requestOptions: { toolChoice: true, ...more } }),
    ],
    serve: [(more) => server.serve(aServer, { port: 0, ...more })],
  },
  cli: { main: 'no options' },
  'server/ai': {
    aiAgent: [(more) => serverAi.aiAgent(desk, { principal: { id: 'ann' }, ...more })],
  },
  'client/ai': {
    chatTransport: [(more) => clientAi.chatTransport({ api: '/chat', ...more })],
  },
  client: {
    ServerError: 'no options',
    createClient: [(more) => client.createClient({ baseUrl: 'https://a.example', ...more })],
  },
}

const evaluating = {
  generator: clerk,
  input: 'go',
  evaluator: { kind: 'free-form' as const, evaluate: () => ({ accepted: true, feedback: '' }) },
}
const approval = { id: 'x', decision: 'approve' as const }
const aiTool = { inputSchema: input, execute: async () => 1 }
const stdio = { type: 'stdio' as const, command: 'false' }
const aServer = server.createServer({ agents: [desk], store: store() })

const modules: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  core,
  agent,
  tools,
  provider,
  sessions,
  'sessions/kit': storeKit,
  'sessions/postgres': storePostgres,
  governance,
  'governance/policy-command': policyCommand,
  durable,
  'policy-cedar': policyCedar,
  guard,
  'guard/claude-agent': guardClaude,
  'guard/openai-agents': guardOpenai,
  memory,
  'code-mode': codeMode,
  replay,
  teams,
  telemetry,
  'telemetry/logger': logger,
  testing,
  server,
  'server/ai': serverAi,
  client,
  'client/ai': clientAi,
  cli,
  console: webConsole,
}

const functionsOf = (object: object): string[] =>
  Object.entries(object)
    .filter(([, value]) => typeof value === 'function')
    .map(([name]) => name)
    .toSorted()

/** The error of a call, whether it is thrown or rejected with. */
async function refusal(call: () => unknown): Promise<unknown> {
  try {
    await call()
    return undefined
  } catch (error) {
    return error
  }
}

/** Only what is too much is named: the rest of the options is valid. */
const itAlone = /^Unknown option "definitelyNotAnOption" in (?:(?!Unknown option).)+\.$/

/** The doors that do not refuse it, and what came instead. */
async function leaks(doors: Doors): Promise<readonly string[]> {
  const found: string[] = []
  for (const door of doors) {
    const error = await refusal(() => door({ definitelyNotAnOption: 1 }))
    const isRefused =
      error instanceof core.ProvostError && error.code === 'unknown-option' && itAlone.test(error.message)
    if (!isRefused) found.push(`${String(door)}: ${String(error)}`)
  }
  return found
}

describe('every function of the packages', () => {
  test.each(Object.entries(modules))('is in the manifest: %s', (name, module) => {
    expect(functionsOf(module)).toEqual(Object.keys(manifest[name] ?? {}).toSorted())
  })

  test('of the umbrella comes from one of them', () => {
    const known = new Set(Object.values(modules).flatMap((module) => Object.values(module)))
    const own = Object.entries(provost).flatMap(([name, value]) =>
      typeof value === 'function' && !known.has(value) ? [name] : [],
    )
    expect(own).toEqual([])
  })

  test.each(
    Object.entries(manifest).flatMap(([name, entries]) =>
      Object.entries(entries).flatMap(([its, entry]) => (Array.isArray(entry) ? [[`${name}: ${its}`, entry]] : [])),
    ) as [string, Doors][],
  )('refuses an option that it does not know: %s', async (_, doors) => {
    expect(await leaks(doors)).toEqual([])
  })

  test('refuses it in members of an exported object', async () => {
    const doors: Doors = [
      (more) => provost.filters.summary({ maxTokens: 1, ...more }),
      (more) => provost.filters.bySensitivity({ keep: 'public', ...more }),
    ]
    expect(await leaks(doors)).toEqual([])
  })
})

/** What a composite refuses, while it runs. */
async function composite(door: (ctx: CompositeContext, more: More) => unknown): Promise<unknown> {
  let error: unknown
  const acting = tools.tool({
    name: 'act',
    input: z.object({}),
    composite: true,
    async execute(_, ctx) {
      error = await refusal(() => door(ctx, { definitelyNotAnOption: 1 }))
      return 'done'
    },
  })
  const steps = testing.scriptedModel([{ toolCalls: [{ name: 'act' }] }, { text: 'ok' }])
  await agent.createAgent({ name: 'boss', model: steps, tools: [acting, note] }).run('go', { onInput: () => 'yes' })
  return error
}

const methods: Readonly<Record<string, () => Promise<Readonly<Record<string, Entry>>>>> = {
  agent: async () => ({
    abort: [(more) => desk.abort({ drain: true, ...more })],
    createSession: [(more) => desk.createSession({ store: store(), ...more })],
    compact: 'no options',
    releaseQuarantine: [(more) => desk.releaseQuarantine('x', { store: store(), ...more })],
    scrub: 'no options',
    changeSince: [(more) => desk.changeSince(agent.foldLog([]), { extensions: [], ...more })],
    resumeSession: [(more) => desk.resumeSession('x', { store: store(), ...more })],
    run: [
      (more) => desk.run('go', { maxSteps: 1, ...more }),
      (more) => desk.run('go', { settings: { seed: 1, ...more } }),
    ],
    stream: [(more) => desk.stream('go', { maxSteps: 1, ...more })],
    toTool: [(more) => desk.toTool({ name: 'x', description: 'x', ...more })],
  }),
  'agent.progress': async () => ({
    read: [(more) => desk.progress.read({ role: 'x', ...more })],
    write: [(more) => desk.progress.write('x', { role: 'x', seq: 0, ...more })],
  }),
  stream: async () => {
    const stream = desk.stream('go')
    return {
      abort: [(more) => stream.abort({ graceMs: 1, ...more })],
      fail: { unchecked: 'Of the runtime itself: its type does not say that it is there.' },
      followUp: 'no options',
      resolve: [
        (more) => stream.resolve({ approvals: [], ...more }),
        (more) => stream.resolve({ approvals: [{ ...approval, ...more }] }),
        (more) => stream.resolve({ toolResults: [{ callId: 'x', output: 1, ...more }] }),
        (more) => stream.resolve({ uncertain: [{ callId: 'x', decision: 'done', ...more }] }),
        (more) => stream.resolve({ inputs: [{ id: 'x', value: 1, ...more }] }),
      ],
      steer: 'no options',
    }
  },
  session: async () => {
    const session = await desk.createSession()
    return {
      abort: [(more) => session.abort({ graceMs: 1, ...more })],
      advance: 'no options',
      close: 'no options',
      compact: 'no options',
      compensate: [
        (more) => session.compensate({ since: 0, ...more }),
        (more) => session.compensate({ decisions: { approvals: [], ...more } }),
      ],
      deliver: [(more) => session.deliver('go', { key: 'x', ...more })],
      fork: [(more) => session.fork({ at: 'x', ...more })],
      off: 'no options',
      on: 'no options',
      reset: 'no options',
      resolve: [(more) => session.resolve({ approvals: [{ ...approval, ...more }] })],
      resume: [(more) => session.resume({ approvals: [], ...more })],
      send: [(more) => session.send('go', { mode: 'queue', ...more })],
      stream: [(more) => session.stream('go', { maxSteps: 1, ...more })],
      waitForIdle: 'no options',
      yield: 'no options',
    }
  },
  memory: async () => {
    const its = memory.createMemory({ store: store() })
    return {
      close: 'no options',
      confirm: [(more) => its.confirm('x', { by: 'ann', ...more })],
      explain: 'no options',
      forget: [(more) => its.forget({ scope: { kind: 'user', id: 'ann' }, ...more })],
      list: [(more) => its.list({ limit: 1, ...more })],
      recall: [
        (more) => its.recall('x', { limit: 1, ...more }),
        (more) => its.recall('x', { scopes: [{ kind: 'user', id: 'ann', ...more }] }),
      ],
      remember: [
        (more) => its.remember('x', { source: 'crm', ...more }),
        (more) => its.remember('x', { source: 'crm', label: { integrity: 'trusted', ...more } }),
      ],
      supersede: 'no options',
      update: [(more) => its.update('x', 'y', { source: 'crm', ...more })],
    }
  },
  client: async () => {
    const its = client.createClient({ baseUrl: 'https://a.example' })
    const brought = { name: 'x', input: {}, execute: () => 1 }
    return {
      session: [
        (more) => its.session({ id: 'x', ...more }),
        (more) => its.session({ tools: [{ ...brought, ...more }] }),
      ],
      sessions: [(more) => its.sessions({ limit: 1, ...more })],
      waits: [(more) => its.waits({ limit: 1, ...more })],
      acceptChange: 'no options',
      decide: [(more) => its.decide('x', { approvals: [], ...more })],
    }
  },
  'client.session': async () => {
    const its = client.createClient({ baseUrl: 'https://a.example' }).session('x')
    return {
      abort: [(more) => its.abort({ drain: true, ...more })],
      compensate: [
        (more) => its.compensate({ since: 1, ...more }),
        (more) => its.compensate({ decisions: { approvals: [], ...more } }),
      ],
      create: 'no options',
      delete: 'no options',
      execute: [(more) => its.execute('go', { maxSteps: 1, ...more })],
      export: 'no options',
      follow: [(more) => its.follow({ maxSteps: 1, ...more })],
      followUp: [(more) => its.followUp('go', { to: 'x', ...more })],
      get: 'no options',
      resolve: [(more) => its.resolve({ approvals: [], ...more })],
      steer: [(more) => its.steer('go', { to: 'x', ...more })],
    }
  },
  sandbox: async () => ({
    close: 'no options',
    run: [(more) => codeMode.createSandbox().run('return 1', { tools: {}, ...more })],
  }),
  server: async () => ({
    close: [(more) => aServer.close({ graceMs: 1, ...more })],
    fetch: 'no options',
    routeOf: 'no options',
  }),
}

const objects: Readonly<Record<string, () => unknown>> = {
  agent: () => desk,
  'agent.progress': () => desk.progress,
  stream: () => desk.stream('go'),
  session: () => desk.createSession(),
  memory: () => memory.createMemory({ store: store() }),
  client: () => client.createClient({ baseUrl: 'https://a.example' }),
  'client.session': () => client.createClient({ baseUrl: 'https://a.example' }).session(),
  sandbox: () => codeMode.createSandbox(),
  server: () => server.createServer({ agents: [desk], store: store() }),
}

describe('every method', () => {
  test.each(Object.keys(methods))(
    'is in the manifest, and refuses an option that it does not know: %s',
    async (name) => {
      const object = await objects[name]?.()
      if (typeof object !== 'object' || object === null) throw new Error(`There is no ${name}.`)
      const entries = (await methods[name]?.()) ?? {}
      expect(functionsOf(object)).toEqual(Object.keys(entries).toSorted())
      const doors = Object.values(entries).flatMap((entry): Doors => (Array.isArray(entry) ? entry : []))
      expect(await leaks(doors)).toEqual([])
    },
  )

  test.each<[string, (ctx: CompositeContext, more: More) => unknown]>([
    ['call', (ctx, more) => ctx.call('note', { to: 'x' }, { key: 'k', ...more })],
    ['spawn', (ctx, more) => ctx.spawn(clerk, 'go', { key: 'k', ...more })],
    ['spawn: grant', (ctx, more) => ctx.spawn(clerk, 'go', { key: 'k', grant: { tokens: 1, ...more } })],
    ['fanOut', (ctx, more) => ctx.fanOut({ children: [child], mergeStrategy: 'concat', ...more })],
    ['fanOut: key', (ctx, more) => ctx.fanOut({ children: [child], mergeStrategy: 'concat' }, { key: 'k', ...more })],
    ['wait', (ctx, more) => ctx.wait('t', { message: 'x', ...more })],
    ['ask', (ctx, more) => ctx.ask({ message: 'x', ...more })],
  ])('of a composite refuses it: %s', async (_, door) => {
    expect(await composite(door)).toMatchObject({ code: 'unknown-option' })
  })

  test('of a hook and of an orchestrator refuses it', async () => {
    const errors: unknown[] = []
    const more: More = { definitelyNotAnOption: 1 }
    const asking = provost.defineExtension({
      name: 'asking',
      hooks: {
        async 'model.request'(_, ctx) {
          errors.push(await refusal(() => ctx.generate({ prompt: 'x', ...more })))
        },
      },
    })
    const orchestrator: provost.Orchestrator = async (run) => {
      errors.push(await refusal(() => run.model({ tools: [], ...more })))
      errors.push(await refusal(() => run.object(z.string(), { tools: [], ...more })))
      errors.push(await refusal(() => run.execute({ only: [], ...more })))
      errors.push(await refusal(() => run.say('x', { integrity: 'trusted', ...more })))
      await run.model()
    }
    await agent.createAgent({ ...made, extensions: [asking], orchestrator }).run('go')
    expect(errors).toEqual(Array(5).fill(expect.objectContaining({ code: 'unknown-option' })))
  })
})
