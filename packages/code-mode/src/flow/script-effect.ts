import type { AnyNode } from 'acorn'

import type { Binding, Scope, ScriptScopes } from './script-scope.ts'
import { namesIn } from './script-scope.ts'
import type { FunctionNode } from './syntax-tree.ts'
import { childrenOf, isFunction } from './syntax-tree.ts'

/** What a part of a script may change outside of itself. */
export interface PartEffect {
  /** Variables that it may set. */
  readonly writes: ReadonlySet<Binding>
  /** Variables whose objects it may change. */
  readonly mutates: ReadonlySet<Binding>
  /** It may change something that this analysis cannot name. */
  readonly isWild: boolean
  /** It may call a tool that acts, or something that is not known here. */
  readonly acts: boolean
  /** It may make a step of the generator that it is part of. */
  readonly yields: boolean
}

interface DirectEffect {
  readonly writes: Set<Binding>
  readonly mutates: Set<Binding>
  wild: boolean
  acts: boolean
  yields: boolean
  readonly callees: Set<FunctionNode>
  unknownCall: boolean
}

const mutators: ReadonlySet<string> = new Set(
  'push pop shift unshift splice sort reverse fill copyWithin set add delete clear setDate setTime setFullYear setMonth setHours setMinutes setSeconds setMilliseconds setUTCDate setUTCFullYear setUTCMonth setUTCHours setUTCMinutes setUTCSeconds setUTCMilliseconds'.split(
    ' ',
  ),
)

/** Methods of iterators: they change the iterator, and run the generator that it is of. */
const stepping: ReadonlySet<string> = new Set(['next', 'return', 'throw'])

/** Methods of the language that call no function of the script, unless one is among their arguments. */
const methods: ReadonlySet<string> = new Set([
  ...mutators,
  ...'at charAt charCodeAt codePointAt concat endsWith includes indexOf lastIndexOf localeCompare match matchAll normalize padEnd padStart repeat replace replaceAll search slice split startsWith substr substring toLowerCase toLocaleLowerCase toLocaleUpperCase toUpperCase trim trimEnd trimStart toString valueOf toFixed toPrecision toLocaleString toISOString toJSON getTime getDate getDay getFullYear getHours getMilliseconds getMinutes getMonth getSeconds getUTCDate getUTCDay getUTCFullYear getUTCHours getUTCMinutes getUTCMonth getUTCSeconds toDateString toTimeString test exec keys values entries has get join flat toReversed toSpliced toSorted with every some find findIndex findLast findLastIndex filter map flatMap forEach reduce reduceRight then catch finally all allSettled race any resolve reject from of isArray fromEntries assign freeze isFrozen hasOwn hasOwnProperty is create parse stringify max min round floor ceil abs sign trunc sqrt pow random log log2 log10 exp hypot isInteger isFinite isNaN isSafeInteger parseInt parseFloat now UTC fromCharCode fromCodePoint groupBy info warn error debug'.split(
    ' ',
  ),
])

/** Methods that call their first arguments. */
const callers: ReadonlySet<string> = new Set(
  'every some find findIndex findLast findLastIndex filter map flatMap forEach reduce reduceRight sort toSorted then catch finally from groupBy replace replaceAll parse stringify'.split(
    ' ',
  ),
)

/** Calls that return an object of their own. */
const makers: ReadonlySet<string> = new Set(
  'map filter slice concat split toSorted toReversed toSpliced flat flatMap keys values entries fromEntries match parse'.split(
    ' ',
  ),
)

const globals: ReadonlySet<string> = new Set([
  'String',
  'Number',
  'Boolean',
  'BigInt',
  'parseInt',
  'parseFloat',
  'isNaN',
  'isFinite',
  'encodeURIComponent',
  'decodeURIComponent',
  'encodeURI',
  'decodeURI',
  'Symbol',
  'Date',
])

export interface ScriptEffects {
  /** The effect of nodes that run, or do not, together. */
  of(...nodes: readonly AnyNode[]): PartEffect
}

/**
 * Analyses what parts of a script may change. `acting` tells whether a tool acts on the world. Calls of unknown functions
 * count as calls of every function of the script.
 */
export function effectsOf(scopes: ScriptScopes, acting: (tool: string) => boolean): ScriptEffects {
  const known = new Map<AnyNode, DirectEffect>()
  const { bindingOf, functions } = scopes
  const methodNames = new Set<string>()
  for (const fn of functions) collectMethodNames(fn, methodNames)
  const implicit = implicitlyCalled(functions)

  /** The function that an identifier stands for, whatever happens to it. */
  const functionOf = (node: AnyNode): FunctionNode | undefined => {
    const binding = node.type === 'Identifier' ? bindingOf(node) : undefined
    return binding?.isFixed && binding.init && isFunction(binding.init) ? binding.init : undefined
  }

  const isFresh = (init: AnyNode | undefined): boolean => {
    if (!init) return false
    if (init.type === 'AwaitExpression') return isToolCall(init.argument)
    if (init.type === 'ArrayExpression' || init.type === 'ObjectExpression' || init.type === 'NewExpression')
      return true
    if (init.type === 'CallExpression' && functionOf(init.callee)?.generator) return true
    if (init.type !== 'CallExpression' || init.callee.type !== 'MemberExpression') return false
    const { property, computed } = init.callee
    return !computed && property.type === 'Identifier' && makers.has(property.name)
  }

  const mutate = (effect: DirectEffect, target: AnyNode) => {
    if (target.type === 'Identifier') {
      const binding = bindingOf(target)
      if (binding) effect.mutates.add(binding)
      return
    }
    if (target.type === 'ThisExpression') effect.wild = true
    else if (target.type === 'NewExpression' || target.type === 'ArrayExpression' || target.type === 'ObjectExpression')
      return
    else if (target.type === 'CallExpression' && isFresh(target)) return
    else effect.wild = true
  }

  const assign = (effect: DirectEffect, target: AnyNode): void => {
    for (const name of namesIn(target)) {
      const binding = bindingOf(name)
      if (binding) effect.writes.add(binding)
    }
    if (target.type === 'MemberExpression') mutate(effect, target.object)
    else if (target.type === 'ObjectPattern' || target.type === 'ArrayPattern') {
      if (hasMember(target)) effect.wild = true
    }
  }

  const callOf = (effect: DirectEffect, node: Extract<AnyNode, { type: 'CallExpression' | 'NewExpression' }>) => {
    const { callee } = node
    const args = node.arguments
    const mayCallArgs = () => {
      for (const arg of args) {
        if (isFunction(arg) || functionOf(arg)) continue
        if (arg.type === 'Literal' || arg.type === 'TemplateLiteral') continue
        if (arg.type === 'Identifier' && globals.has(arg.name)) continue
        if (arg.type === 'ArrayExpression' || arg.type === 'ObjectExpression') continue
        effect.unknownCall = true
      }
    }
    if (isFunction(callee)) {
      effect.callees.add(callee)
      return
    }
    const own = functionOf(callee)
    if (own) {
      effect.callees.add(own)
      return
    }
    if (callee.type === 'Identifier') {
      const binding = bindingOf(callee)
      if (!binding && node.type === 'NewExpression') return mayCallIn(effect, args)
      if (!binding && (globals.has(callee.name) || !acting(callee.name))) return
      if (binding?.init?.type === 'ClassDeclaration') effect.unknownCall = true
      effect.acts = true
      effect.unknownCall = true
      return
    }
    if (callee.type === 'MemberExpression' && callee.object.type === 'Identifier' && callee.object.name === 'tools') {
      if (!bindingOf(callee.object)) {
        const { property, computed } = callee
        const name = property.type === 'Identifier' && !computed ? property.name : textOf(property)
        if (name === undefined || acting(name)) effect.acts = true
        return
      }
    }
    if (callee.type === 'MemberExpression' && !callee.computed && callee.property.type === 'Identifier') {
      const { name } = callee.property
      if (methods.has(name) && !methodNames.has(name)) {
        if (mutators.has(name)) mutate(effect, callee.object)
        if ((name === 'assign' || name === 'freeze') && args[0]) mutate(effect, args[0])
        if (callers.has(name)) mayCallArgs()
        return
      }
      if (stepping.has(name)) mutate(effect, callee.object)
    }
    effect.acts = true
    effect.unknownCall = true
  }

  const mayCallIn = (effect: DirectEffect, args: readonly AnyNode[]) => {
    for (const arg of args) if (isFunction(arg)) effect.callees.add(arg)
  }

  const direct = (node: AnyNode): DirectEffect => {
    const found = known.get(node)
    if (found) return found
    const effect: DirectEffect = {
      writes: new Set(),
      mutates: new Set(),
      wild: false,
      acts: false,
      yields: node.type === 'YieldExpression',
      callees: new Set(),
      unknownCall: false,
    }
    known.set(node, effect)
    switch (node.type) {
      case 'AssignmentExpression':
        assign(effect, node.left)
        break
      case 'UpdateExpression':
        assign(effect, node.argument)
        break
      case 'ForOfStatement':
      case 'ForInStatement':
        if (node.left.type !== 'VariableDeclaration') assign(effect, node.left)
        break
      case 'VariableDeclaration':
        if (node.kind === 'var') for (const { id } of node.declarations) assign(effect, id)
        break
      case 'UnaryExpression':
        if (node.operator === 'delete' && node.argument.type === 'MemberExpression')
          mutate(effect, node.argument.object)
        break
      case 'CallExpression':
      case 'NewExpression':
        callOf(effect, node)
        break
      case 'TaggedTemplateExpression':
        effect.acts = true
        effect.unknownCall = true
        break
      case 'Identifier': {
        // A function that is named may be called.
        const own = functionOf(node)
        if (own) effect.callees.add(own)
        break
      }
    }
    for (const child of childrenOf(node)) {
      if (isFunction(child)) {
        effect.callees.add(child)
        continue
      }
      const below = direct(child)
      for (const one of below.writes) effect.writes.add(one)
      for (const one of below.mutates) effect.mutates.add(one)
      for (const one of below.callees) effect.callees.add(one)
      effect.wild ||= below.wild
      effect.acts ||= below.acts
      effect.yields ||= below.yields
      effect.unknownCall ||= below.unknownCall
    }
    return effect
  }

  const bodyOf = (fn: FunctionNode): readonly AnyNode[] => [...fn.params, fn.body]

  return {
    of(...nodes) {
      const writes = new Set<Binding>()
      const mutates = new Set<Binding>()
      let isWild = false
      let acts = false
      const seen = new Set<FunctionNode>()
      const add = (node: AnyNode, whole: AnyNode = node) => {
        const effect = direct(node)
        const local = (binding: Binding) => isWithin(binding.scope, whole)
        for (const one of effect.writes) if (!local(one)) writes.add(one)
        for (const one of effect.mutates) {
          if (!local(one)) mutates.add(one)
          else if (!one.isFixed || !isFresh(one.init)) isWild = true
        }
        isWild ||= effect.wild
        acts ||= effect.acts
        const callees = effect.unknownCall ? functions : [...effect.callees, ...implicit]
        for (const callee of callees) {
          if (seen.has(callee)) continue
          seen.add(callee)
          for (const part of bodyOf(callee)) add(part, callee)
        }
      }
      for (const node of nodes) add(node)
      return { writes, mutates, isWild, acts, yields: nodes.some((node) => direct(node).yields) }
    },
  }
}

function isWithin(scope: Scope, { start, end }: AnyNode): boolean {
  return scope.node.start >= start && scope.node.end <= end
}

/** A call of a tool: its result is an object of its own. */
function isToolCall(node: AnyNode): boolean {
  if (node.type !== 'CallExpression') return false
  const { callee } = node
  return callee.type === 'MemberExpression' && callee.object.type === 'Identifier' && callee.object.name === 'tools'
}

function textOf(node: AnyNode): string | undefined {
  return node.type === 'Literal' && typeof node.value === 'string' ? node.value : undefined
}

function hasMember(pattern: AnyNode): boolean {
  if (pattern.type === 'MemberExpression') return true
  return childrenOf(pattern).some(hasMember)
}

/** Names of methods that the language calls by itself, those of descriptors and iterators included. */
const calledByLanguage: ReadonlySet<string> = new Set(
  'toString valueOf toJSON then get set next return throw'.split(' '),
)

/**
 * Returns the functions of a script that run without a call: getters, setters, and methods that the language calls, such as
 * `toString` and those under symbols. Any part of the script may run them. A method whose function is not written in its
 * place may be each of them.
 */
function implicitlyCalled(functions: readonly FunctionNode[]): readonly FunctionNode[] {
  const found = new Set<FunctionNode>()
  let isUnknown = false
  const keep = (key: AnyNode, computed: boolean, value: AnyNode | null | undefined) => {
    const name = key.type === 'Identifier' ? key.name : key.type === 'Literal' ? String(key.value) : undefined
    if (!value || (!computed && !calledByLanguage.has(name ?? ''))) return
    if (computed && key.type === 'Literal' && !calledByLanguage.has(name ?? '')) return
    if (isFunction(value)) found.add(value)
    else if (value.type !== 'Literal' && (!computed || key.type === 'MemberExpression')) isUnknown = true
  }
  const visit = (node: AnyNode): void => {
    if (node.type === 'Property' || node.type === 'MethodDefinition') {
      const { kind, key, computed, value } = node
      if ((kind === 'get' || kind === 'set') && isFunction(value)) found.add(value)
      else keep(key, computed, value)
    } else if (node.type === 'PropertyDefinition') keep(node.key, node.computed, node.value)
    else if (node.type === 'AssignmentExpression' && node.left.type === 'MemberExpression')
      keep(node.left.property, node.left.computed, node.right)
    for (const child of childrenOf(node)) visit(child)
  }
  const [root] = functions
  if (root) visit(root)
  return isUnknown ? functions : [...found]
}

/** The names under which a script stores functions of its own. */
function collectMethodNames(fn: FunctionNode, names: Set<string>): void {
  const visit = (node: AnyNode): void => {
    if (node.type === 'MethodDefinition' || node.type === 'PropertyDefinition' || node.type === 'Property') {
      const { key, value } = node
      if (value && (isFunction(value) || value.type === 'Identifier')) {
        if (key.type === 'Identifier' && !(node.type === 'Property' && node.shorthand)) names.add(key.name)
        else if (key.type === 'Literal') names.add(String(key.value))
      }
    }
    if (node.type === 'AssignmentExpression' && node.left.type === 'MemberExpression') {
      const { property } = node.left
      if (property.type === 'Identifier' && isFunction(node.right)) names.add(property.name)
    }
    for (const child of childrenOf(node)) if (!isFunction(child) || child === node) visit(child)
  }
  for (const child of childrenOf(fn)) if (!isFunction(child)) visit(child)
}
