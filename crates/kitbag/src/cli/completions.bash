
# bash splits words at = and :, which occur in arguments and URIs. This joins the words again, and
# strips from each completion the part that bash keeps.
_kitbag() {
    local rest=$COMP_LINE word words=() own=$2 head i
    for ((i = 0; i <= COMP_CWORD; i++)); do
        word=${COMP_WORDS[i]}
        if ((i == 0)) || [[ $rest == [[:space:]]* ]]; then
            words+=("")
        fi
        rest=${rest#"${rest%%[![:space:]]*}"}
        rest=${rest#"$word"}
        words[${#words[@]} - 1]+=$word
    done
    local COMP_WORDS=("${words[@]}") COMP_CWORD=$((${#words[@]} - 1))
    word=${words[COMP_CWORD]}
    head=${word%"$own"}
    _clap_complete_kitbag "$1" "$word" "$3"
    for i in "${!COMPREPLY[@]}"; do
        printf -v "COMPREPLY[i]" %q "${COMPREPLY[i]#"$head"}"
    done
}
complete -o nospace -o bashdefault -o nosort -F _kitbag kitbag 2> /dev/null ||
    complete -o nospace -o bashdefault -F _kitbag kitbag
